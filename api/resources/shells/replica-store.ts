import { type Db, oneRow } from '../../../shared/core/database/database-client.js';
import { AppError, conflict } from '../../../shared/core/error-registry.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { onlineWorkers } from '../../../shared/workers/store.js';

export interface ReachableReplica {
  id: string;
  deployment_id: string;
  host_id: string;
  task_id: string | null;
  port: number | null;
  given_port: number | null;
}

/**
 * Returns the replica or run attempt with the id `wanted`; a running replica if `wanted` is undefined. Throws not_found
 * if no running replica or run has this id. Throws conflict if no replica runs, or if the replica runs in a container
 * engine.
 */
export async function findReachableReplica(
  db: Db,
  { id, live_deployment_id }: Pick<ServiceRow, 'id' | 'live_deployment_id'>,
  wanted: string | undefined,
): Promise<ReachableReplica> {
  const which =
    wanted === undefined ? 'deployment_id = :live and run_id is null' : '(id = :wanted or run_id = :wanted)';
  const replica = await oneRow<ReachableReplica>(
    db,
    `select id, deployment_id, host_id, task_id, port, given_port from replicas
      where service_id = :id and ${which} and desired <> 'stopped' and (pid is not null or task_id is not null)
      order by state = 'ready' desc, generation desc, position, created_at limit 1`,
    { id, live: live_deployment_id, wanted: wanted ?? null },
  );
  if (replica === null) {
    if (wanted !== undefined) throw new AppError('not_found', 'No such replica or run of the service is running');
    throw conflict('No replica of the service is running. Look at its log, or name a run that is running');
  }
  if (replica.task_id !== null) {
    throw conflict('Shells and tunnels need RUNTIME=process; this one runs in a container engine');
  }
  return replica;
}

/** Throws conflict unless an online worker of the host can start commands in the host's replicas. */
export async function assertEntered(db: Db, hostId: string): Promise<void> {
  const workers = (await onlineWorkers(db)).filter(({ host_id }) => host_id === hostId);
  if (workers.length === 0) throw conflict('No worker of its host is online; try again later');
  if (workers.some(({ enters_replicas }) => enters_replicas)) return;
  throw conflict('The workers of its host open no shells. Update them to the release of this API');
}
