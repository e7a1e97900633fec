import type { Db } from '../../shared/core/database/database-client.js';
import type { ReplicaRow } from './rows.js';
import { change } from './store.js';

/** Records that a replica's processes are frozen. Returns false if the replica must run again. */
export function recordFrozen(db: Db, row: ReplicaRow): Promise<boolean> {
  const published = { route: false, quiet: true, only: { desired: 'running', to_freeze: true } } as const;
  return change(db, row, [row.state], published, () => ({ state: 'frozen' }));
}

/** Records that the processes of a replica run again, so that the edge may send requests to it. */
export async function recordThawed(db: Db, row: ReplicaRow): Promise<void> {
  const published = { route: true, only: { desired: 'running', to_freeze: false } } as const;
  await change(db, row, ['frozen'], published, () => ({ state: 'ready' }));
}
