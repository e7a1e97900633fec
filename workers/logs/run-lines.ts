import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import type { RunRow } from '../../shared/runs/model.js';

/** Returns the last lines that a run has printed, oldest first. Lines that still wait in batches are left out. */
export async function lastLinesOfRun(
  db: Db,
  { id, service_id }: Pick<RunRow, 'id' | 'service_id'>,
  limit: number,
): Promise<string[]> {
  const rows = await rowsOf<{ message: string }>(
    db,
    `select message from log_lines
      where service_id = ? and run_id = ? and source = 'runtime' order by id desc limit ?`,
    [service_id, id, limit],
  );
  return rows.map(({ message }) => message).reverse();
}
