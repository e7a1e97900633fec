import { type Db, oneRow, rowsOf, type Transaction } from '../../shared/core/database/database-client.js';
import { OPEN_SESSION } from '../../shared/remote/store.js';
import { publishRouteChange } from '../../shared/services/publish-route.js';
import { SLEPT_MS, thawReplicas, WAKES } from '../../shared/services/thaw.js';
import { ASLEEP, FROZEN, MAY_SLEEP } from '../../shared/services/wanted-replicas.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { notifyHost } from '../replicas/store.js';
import type { SleepFacts } from './decide-sleep.js';

/** Records that these services have visitors now. */
export async function recordVisits(db: Db, serviceIds: readonly string[]): Promise<void> {
  if (serviceIds.length === 0) return;
  // All edges use the same order, so that they never deadlock.
  await rowsOf(
    db,
    `insert into service_visits (service_id)
     select s.id from services s where s.id = any(?::uuid[]) order by s.id
     on conflict (service_id) do update set visited_at = now()`,
    [[...serviceIds].sort()],
  );
}

export interface SleepingService {
  id: string;
  workspace_id: string;
  live_deployment_id: string;
}

const LIVE_REPLICAS = `replicas r
  where r.deployment_id = s.live_deployment_id and r.run_id is null and r.desired = 'running' and r.state <> 'stopped'`;

const FACTS = `select s.id, s.workspace_id, s.live_deployment_id, ${FROZEN} as frozen, ${MAY_SLEEP} as "maySleep",
    exists (select from deployments o where o.service_id = s.id and o.finished_at is null)
      or exists (select from operations o where o.service_id = s.id and o.finished_at is null)
      or exists (select from remote_sessions o where o.workspace_id = s.workspace_id and o.service_id = s.id and ${OPEN_SESSION})
      as busy,
    (select case when bool_and(r.ready_at is not null)
                 then cast(extract(epoch from now() - greatest(max(r.ready_at), v.visited_at)) as double precision) end
       from ${LIVE_REPLICAS}) as "quietSeconds",
    coalesce((select bool_and(r.state = 'ready') from ${LIVE_REPLICAS}), false) as "allReady",
    cast(coalesce(extract(epoch from now() - s.asleep_since), 0) as double precision) as "asleepSeconds",
    coalesce(v.visited_at > s.asleep_since, false) as visited
  from services s
  left join service_visits v on v.service_id = s.id
 where s.lifecycle_status = 'active' and s.deleted_at is null and s.live_deployment_id is not null
   and not ${ASLEEP} and (${MAY_SLEEP} or ${FROZEN})`;

/** SQL: the ids of services that could fall asleep or are asleep. Each half of the union uses an index. */
const CANDIDATES = `array(
  select id from services where configuration ->> 'scaling' = 'auto' and deleted_at is null
  union select id from services where asleep_since is not null)`;

/** Returns the facts about every service that may sleep or is frozen, except those without replicas. */
export function sleepFacts(db: Db): Promise<(SleepingService & SleepFacts)[]> {
  return rowsOf(db, `${FACTS} and s.id = any(${CANDIDATES}) order by s.id`);
}

/**
 * Locks a service and its replicas, and returns the facts about the service. Returns null if its live release or status
 * has changed, if it has no replicas, or if it neither may sleep nor is frozen.
 */
export async function lockSleeper(
  trx: Transaction,
  { id, live_deployment_id }: SleepingService,
): Promise<(SleepingService & SleepFacts) | null> {
  await rowsOf(trx, 'select from replicas where deployment_id = ? order by id for no key update', [live_deployment_id]);
  await rowsOf(trx, 'select from services where id = ? for update', [id]);
  return oneRow(trx, `${FACTS} and s.id = ? and s.live_deployment_id = ?`, [id, live_deployment_id]);
}

/** Marks a locked service as asleep and its replicas for freezing. The edges hold its requests until it is woken. */
export async function freezeReplicas(trx: Transaction, service: SleepingService): Promise<void> {
  const hosts: string[] = await trx<ReplicaRow>('replicas')
    .where({ deployment_id: service.live_deployment_id, desired: 'running', run_id: null })
    .whereNot({ state: 'stopped' })
    .update({ to_freeze: true, updated_at: trx.fn.now() })
    .returning('host_id')
    .then((rows) => rows.map(({ host_id }) => host_id));
  await trx('services').where({ id: service.id }).update({ asleep_since: trx.fn.now() });
  await publishRouteChange(trx, service.id);
  for (const host of new Set(hosts)) await notifyHost(trx, host);
}

/** Marks a locked service as asleep without replicas. The caller must queue the operation that stops them. */
export async function markEnded(trx: Transaction, { id, frozen }: SleepingService & SleepFacts): Promise<void> {
  await rowsOf(
    trx,
    `update services set scaled_replicas = 0, asleep_since = case when :frozen then asleep_since else now() end where id = :id`,
    { id, frozen },
  );
}

export interface WokenService extends SleepingService {
  sleptMs: number;
  /** True if its replicas were stopped. An operation must then start one. */
  ended: boolean;
}

/** Wakes a service: thaws its frozen replicas, or requests one replica. Returns undefined if it does not sleep. */
export async function wakeService(trx: Transaction, id: string): Promise<WokenService | undefined> {
  const thawed = await thawReplicas(trx, id);
  const [service] = await rowsOf<SleepingService & { sleptMs: number; ended: boolean }>(
    trx,
    `update services s set scaled_replicas = 1, ${WAKES}
      where s.id = ? and ${ASLEEP} and s.lifecycle_status = 'active' and s.deleted_at is null and s.live_deployment_id is not null
     returning s.id, s.workspace_id, s.live_deployment_id, ${SLEPT_MS} as "sleptMs", true as ended`,
    [id],
  );
  if (service !== undefined) return { ...service, sleptMs: thawed ?? service.sleptMs };
  if (thawed === null) return undefined;
  const sql = 'select id, workspace_id, live_deployment_id from services where id = ?';
  const [awake] = await rowsOf<SleepingService>(trx, sql, [id]);
  return awake && { ...awake, sleptMs: thawed, ended: false };
}
