import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../shared/db/client.js';
import { waitingEdges } from '../shared/db/edge.js';

/** The longest an edge is waited for, to apply a route and to let the requests it had sent to the old release end. */
const EDGE_MS = 30_000;
const LOOK_MS = 20;

/**
 * Waits, within bounds, until every edge that lives has applied the version and drained what it replaced. Rejects with the
 * reason of a signal, where one is given.
 */
export async function edgesApplied(
  db: Db,
  serviceId: string,
  version: number,
  signal: AbortSignal | null,
  withinMs = EDGE_MS,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline && (await waitingEdges(db, serviceId, version)) > 0) {
    signal?.throwIfAborted();
    await delay(LOOK_MS);
  }
}
