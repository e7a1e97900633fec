import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import type { ReplicaRow } from './rows.js';
import { notifyHost, updateServiceHealth } from './store.js';

/** Records that a replica's processes are frozen. Returns false if it must run, for example for a new visitor. */
export async function recordFrozen(db: Db, row: ReplicaRow): Promise<boolean> {
  return db.transaction(async (trx) => {
    if (!(await move(trx, row, { to_freeze: true, state: row.state }, 'frozen'))) return false;
    await updateServiceHealth(trx, row, { route: false });
    return true;
  });
}

/** Records that the processes of a replica run again, so that the edge may send requests to it. */
export async function recordThawed(db: Db, row: ReplicaRow): Promise<void> {
  await db.transaction(async (trx) => {
    if (!(await move(trx, row, { to_freeze: false, state: 'frozen' }, 'ready'))) return;
    await updateServiceHealth(trx, row, { route: true });
    await notifyHost(trx, row.host_id);
  });
}

async function move(
  trx: Transaction,
  { id, restarts }: ReplicaRow,
  from: Pick<ReplicaRow, 'to_freeze' | 'state'>,
  state: ReplicaRow['state'],
): Promise<boolean> {
  const moved = await trx<ReplicaRow>('replicas')
    .where({ id, restarts, desired: 'running', ...from })
    .update({ state, updated_at: trx.fn.now() });
  return moved === 1;
}
