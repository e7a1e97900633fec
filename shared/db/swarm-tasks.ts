import type { Db, Transaction } from './client.js';
import { CHANNELS } from './listener.js';
import type { Attempt } from './replicas.js';
import type { ReplicaRow } from './rows.js';

/** Where a task's container is to be reached; the port is null where it listens on none. */
export interface TaskPlace {
  taskId: string;
  address: string;
  port: number | null;
}

/**
 * Lets a replica be this task: one that starts for the first time, or again after the task it was has ended. False: the
 * attempt is not ours to change any more.
 */
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
    if (updated === 1) await trx.raw('select pg_notify(?, ?)', [CHANNELS.replica, row.host_id]);
    return updated === 1;
  });
}

/** What keeps a replica from starting, for whoever waits for it. */
export async function recordHindrance(db: Db, row: ReplicaRow, detail: string): Promise<void> {
  if (row.exit_detail === detail) return;
  await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting' })
    .update({ exit_detail: detail, updated_at: db.fn.now() });
}

/** Moves the mark up to which a task's output is in the log. False: somebody else has moved it. */
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
