import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import { FINEST } from '../../shared/metrics/model.js';
import type { ServiceKind } from '../../shared/services/model.js';

export interface MeasurableReplica {
  id: string;
  restarts: number;
  service_id: string;
  /** The id of the replica's Swarm task; null if it has none. */
  task_id: string | null;
  kind: ServiceKind;
  plan: string;
}

/** Returns a host's replicas with running processes. Rows that belong to a run are left out. */
export function measurableReplicas(db: Db, hostId: string): Promise<MeasurableReplica[]> {
  return rowsOf(
    db,
    `select r.id, r.restarts, r.service_id, r.task_id, s.kind, coalesce(d.configuration ->> 'plan', '') as plan
       from replicas r join services s on s.id = r.service_id join deployments d on d.id = r.deployment_id
      where r.host_id = ? and r.run_id is null and r.state in ('starting', 'ready', 'unhealthy')`,
    [hostId],
  );
}

export interface ReplicaSample {
  replicaId: string;
  serviceId: string;
  attempt: number;
  /** CPU and memory are in percent of the plan. */
  cpu: number;
  memory: number;
}

/** Records the latest measurement of these replicas. */
export async function recordSamples(db: Db, samples: readonly ReplicaSample[]): Promise<void> {
  if (samples.length === 0) return;
  const sorted = [...samples].sort((a, b) => (a.replicaId < b.replicaId ? -1 : 1));
  await rowsOf(
    db,
    `insert into replica_samples (replica_id, service_id, attempt, cpu, memory)
     select "replicaId", "serviceId", attempt, cpu, memory
       from json_to_recordset(?) as s ("replicaId" uuid, "serviceId" uuid, attempt integer, cpu real, memory real)
     on conflict (replica_id) do update
       set attempt = excluded.attempt, cpu = excluded.cpu, memory = excluded.memory, sampled_at = now()`,
    [JSON.stringify(sorted)],
  );
}

/**
 * Adds each service's ready replicas and their usage to the current metrics interval. Usage that was measured more than
 * `freshSeconds` ago is ignored. Also adds the last measured size of volumes, including those of suspended and cron
 * services.
 */
export async function foldUsage(db: Db, freshSeconds: number): Promise<void> {
  await rowsOf(
    db,
    `insert into service_metrics as m (service_id, step, at, counts, replicas, samples, cpu, memory, volume_bytes)
     with used as (
       select r.service_id, count(*) filter (where r.state = 'ready') as replicas, count(x.cpu) as samples,
              coalesce(sum(x.cpu), 0) as cpu, coalesce(sum(x.memory), 0) as memory
         from replicas r join services s on s.id = r.service_id and s.live_deployment_id = r.deployment_id
         left join replica_samples x on x.replica_id = r.id and x.attempt = r.restarts and r.state = 'ready'
                                    and x.sampled_at > now() - make_interval(secs => ?)
        where r.run_id is null and r.state <> 'stopped' and r.desired = 'running' and s.deleted_at is null
        group by r.service_id
     ), held as (
       select v.service_id, sum(v.used_bytes)::bigint as bytes from volumes v join services s on s.id = v.service_id
        where v.removed_at is null and v.measured_at is not null and s.deleted_at is null group by v.service_id
     )
     select service_id, ${FINEST.step}, date_bin('${FINEST.step} seconds', now(), 'epoch'), 1, coalesce(replicas, 0),
            coalesce(samples, 0), coalesce(cpu, 0), coalesce(memory, 0), bytes
       from used full join held using (service_id) order by service_id
     on conflict (service_id, step, at) do update
       set counts = m.counts + 1, replicas = m.replicas + excluded.replicas, samples = m.samples + excluded.samples,
           cpu = m.cpu + excluded.cpu, memory = m.memory + excluded.memory,
           volume_bytes = greatest(m.volume_bytes, excluded.volume_bytes)`,
    [freshSeconds],
  );
}
