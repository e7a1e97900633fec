import type { Db } from '../../shared/core/database/client.js';
import { makeDue } from '../../shared/queues/due.js';

/** A record whose workspace has its slot already tries again after this time, in milliseconds. It keeps no slot meanwhile. */
const TURN_MS = 2_000;

/** Makes a further job due for a record that was not claimed and has not ended. Returns the outcome of this job. */
export async function waitForTurn(
  db: Db,
  table: 'backups' | 'operations',
  record: { id: string; dispatches: number; finished_at: Date | null } | null | undefined,
): Promise<string> {
  if (!record || record.finished_at !== null) return 'nothing to do';
  await makeDue(db, table, record, TURN_MS);
  return 'waits for another one of its workspace';
}
