import type { Db } from '../../shared/db/client.js';
import { routeVersionOf } from '../../shared/db/replicas.js';
import type { ReplicaRow } from '../../shared/db/rows.js';
import { edgesApplied } from '../edges-applied.js';

/** Waits, within a bound, until no edge sends requests to the replica and those under way have ended. */
export async function edgesLetGo(db: Db, row: ReplicaRow): Promise<void> {
  const version = await routeVersionOf(db, row);
  if (version !== undefined) await edgesApplied(db, row.service_id, version, null);
}
