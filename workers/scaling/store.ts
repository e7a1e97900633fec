import { type Db, rowsOf, type Transaction } from '../../shared/core/database/database-client.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { NO_MEMORY, type ScalingFacts, type ScalingMemory } from './model.js';

export interface ObservedService
  extends Pick<
    ScalingFacts,
    'minReplicas' | 'maxReplicas' | 'targetCpu' | 'targetMemory' | 'replicas' | 'measured' | 'memory'
  > {
  id: string;
  workspaceId: string;
  deploymentId: string;
  /** The plan of the live release. */
  plan: ServiceConfiguration['plan'];
  scaledReplicas: number | null;
  /** True while a deployment or an operation is in progress. */
  busy: boolean;
  /** Version of the stored `memory`; 0 if none is stored. */
  version: number;
}

export interface ObservationSpan {
  /** How long a replica must have been ready before its usage counts. */
  readySeconds: number;
  freshSeconds: number;
}

/** Returns the services with automatic scaling that have replicas. */
export async function observeServices(db: Db, span: ObservationSpan): Promise<ObservedService[]> {
  const rows = await rowsOf<Omit<ObservedService, 'memory'> & { memory: ScalingMemory | null }>(
    db,
    `select s.id, s.workspace_id as "workspaceId", s.live_deployment_id as "deploymentId", d.configuration ->> 'plan' as plan,
            greatest((s.configuration ->> 'minReplicas')::int, 1) as "minReplicas", (s.configuration ->> 'maxReplicas')::int as "maxReplicas",
            (s.configuration ->> 'targetCpu')::int as "targetCpu", (s.configuration ->> 'targetMemory')::int as "targetMemory",
            s.scaled_replicas as "scaledReplicas",
            exists (select from deployments o where o.service_id = s.id and o.finished_at is null)
              or exists (select from operations o where o.service_id = s.id and o.finished_at is null) as busy,
            r.replicas, r.measured, c.memory, coalesce(c.version, 0) as version
       from services s
       join deployments d on d.id = s.live_deployment_id
       join lateral (
         select count(*)::int as replicas,
                coalesce(jsonb_agg(jsonb_build_object('cpu', x.cpu, 'memory', x.memory)) filter (where x.cpu is not null), '[]') as measured
           from replicas r
           left join replica_samples x
             on x.replica_id = r.id and x.attempt = r.restarts and r.state = 'ready'
            and r.ready_at < now() - make_interval(secs => :readySeconds) and x.sampled_at > now() - make_interval(secs => :freshSeconds)
          where r.service_id = s.id and r.deployment_id = s.live_deployment_id and r.run_id is null and r.replaces is null
            and r.desired = 'running' and r.state <> 'stopped'
       ) r on r.replicas > 0
       left join service_scaling c on c.service_id = s.id
      where s.configuration ->> 'scaling' = 'auto' and s.deleted_at is null and s.lifecycle_status = 'active'
        and s.kind in ('web', 'private', 'worker')
      order by s.id`,
    { ...span },
  );
  return rows.map((row) => ({ ...row, memory: row.memory ?? NO_MEMORY }));
}

export type Remembered = Pick<ObservedService, 'id' | 'version' | 'memory' | 'replicas'>;

/**
 * Stores the memory of services that are not scaled. Sets `scaled_replicas` to the actual number of replicas, because a
 * change may have failed.
 */
export async function rememberAll(db: Db, services: readonly Remembered[]): Promise<void> {
  if (services.length === 0) return;
  await rowsOf(
    db,
    `with seen as (
       select * from unnest(?::uuid[], ?::bigint[], ?::jsonb[], ?::int[]) as t (id, version, memory, replicas)
     ), kept as (
       insert into service_scaling as c (service_id, memory)
       select id, memory from seen
       on conflict (service_id) do update
         set memory = excluded.memory, version = c.version + 1, updated_at = now()
         where c.version = (select version from seen where id = excluded.service_id)
       returning c.service_id
     )
     update services s set scaled_replicas = seen.replicas
       from seen join kept on kept.service_id = seen.id
      where s.id = seen.id and s.scaled_replicas is distinct from seen.replicas and s.configuration ->> 'scaling' = 'auto'
        and not exists (select from operations o where o.service_id = s.id and o.finished_at is null)`,
    [
      services.map(({ id }) => id),
      services.map(({ version }) => version),
      services.map(({ memory }) => JSON.stringify(memory)),
      services.map(({ replicas }) => replicas),
    ],
  );
}

/** Locks a service for a scaling decision. Returns undefined if it has changed since it was observed. */
export async function lockObserved(trx: Transaction, observed: ObservedService): Promise<ServiceRow | undefined> {
  return trx<ServiceRow>('services')
    .where({ id: observed.id, live_deployment_id: observed.deploymentId, lifecycle_status: 'active' })
    .whereNull('deleted_at')
    .whereRaw(`configuration ->> 'scaling' = 'auto'`)
    .whereRaw('not exists (select from operations o where o.service_id = services.id and o.finished_at is null)')
    .forUpdate()
    .first();
}

/** Stores a decision for a locked service. Returns false if another decision was stored meanwhile. */
export async function storeDecision(
  trx: Transaction,
  { id, version }: Pick<ObservedService, 'id' | 'version'>,
  decision: { replicas: number; memory: ScalingMemory },
): Promise<boolean> {
  const rows = await rowsOf<{ service_id: string }>(
    trx,
    `insert into service_scaling as c (service_id, memory) values (:id, :memory)
     on conflict (service_id) do update set memory = excluded.memory, version = c.version + 1, updated_at = now()
      where c.version = :version returning service_id`,
    { id, version, memory: JSON.stringify(decision.memory) },
  );
  if (rows.length === 0) return false;
  await trx<ServiceRow>('services').where({ id }).update({ scaled_replicas: decision.replicas });
  return true;
}
