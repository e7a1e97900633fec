import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../shared/core/database/database-client.js';
import { waitingEdges } from '../../shared/routing/store.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { routeVersionOf } from '../replicas/store.js';

/** How long to wait for the edges to apply a route and to drain requests to the old release. */
const EDGE_MS = 30_000;
const POLL_INTERVAL_MS = 20;

/**
 * Waits until every live edge has applied a route version and drained the releases before it. If `version` is null,
 * waits for the service's newest version. Returns after `withinMs` even if an edge is not done.
 */
export async function edgesApplied(
  db: Db,
  serviceId: string,
  version: number | null,
  signal: AbortSignal | null,
  withinMs = EDGE_MS,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline && (await waitingEdges(db, serviceId, version)) > 0) {
    signal?.throwIfAborted();
    await delay(POLL_INTERVAL_MS);
  }
}

/** Waits until no edge sends requests to the replica and no request is in progress, for at most 30 s. */
export async function replicaDrained(db: Db, row: ReplicaRow): Promise<void> {
  const version = await routeVersionOf(db, row);
  if (version !== undefined) await edgesApplied(db, row.service_id, version, null);
}
