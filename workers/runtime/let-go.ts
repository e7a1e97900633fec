import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../shared/db/client.js';
import { waitingEdges } from '../../shared/db/edge.js';
import { routeVersionOf } from '../../shared/db/replicas.js';
import type { ReplicaRow } from '../../shared/db/rows.js';

const EDGE_WAIT_MS = 30_000;
const LOOK_MS = 50;

/** Waits, within a bound, until no edge sends requests to the replica and those under way have ended. */
export async function edgesLetGo(db: Db, row: ReplicaRow): Promise<void> {
  const version = await routeVersionOf(db, row);
  if (version === undefined) return;
  const deadline = Date.now() + EDGE_WAIT_MS;
  while (Date.now() < deadline && (await waitingEdges(db, row.service_id, version)) > 0) await sleep(LOOK_MS);
}
