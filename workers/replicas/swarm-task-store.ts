import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import type { Attempt, ReplicaRow } from './rows.js';
import { notifyHost } from './store.js';

/** A Swarm task, and where its container is reached. `port` is null if the container listens on none. */
export interface TaskPlace {
  taskId: string;
  address: string;
  port: number | null;
}

/** Records the Swarm task of a starting replica. Returns false if the attempt is no longer current. */
export async function recordTask(db: Db, row: Attempt, { taskId, address, port }: TaskPlace): Promise<boolean> {
  return db.transaction(async (trx) => {
    const updated = await trx<ReplicaRow>('replicas')
      .where({ id: row.id, restarts: row.restarts, desired: 'running' })
      .whereIn('state', ['starting', 'exited'])
      .update({
        state: 'starting',
        task_id: taskId,
        log_since: null,
        address,
        port,
        exit_detail: '',
        next_start_at: null,
        started_at: trx.fn.now(),
        updated_at: trx.fn.now(),
      });
    if (updated === 1) await notifyHost(trx, row.host_id);
    return updated === 1;
  });
}

/** Records why a replica cannot start yet, to be shown to users. */
export async function recordHindrance(db: Db, row: ReplicaRow, detail: string): Promise<void> {
  if (row.exit_detail === detail) return;
  await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting' })
    .update({ exit_detail: detail, updated_at: db.fn.now() });
}

/** Moves the timestamp up to which a task's output is in the log. Returns false if another worker has moved it. */
export async function advanceTaskLog(
  trx: Transaction,
  id: string,
  taskId: string,
  from: string | null,
  to: string | null,
): Promise<boolean> {
  const updated = await trx<ReplicaRow>('replicas')
    .where({ id, task_id: taskId, log_since: from })
    .update({ log_since: to });
  return updated === 1;
}
