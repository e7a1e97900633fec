import type { OperationKind } from '../domain/operation.js';
import { type Db, rowsOf, type Transaction } from './client.js';

/** Open deployments that were admitted, whose worker has let its lease go and that nothing has touched for a while. */
export async function findAbandonedDeployments(
  db: Db,
  idleSeconds: number,
): Promise<{ id: string; dispatches: number }[]> {
  return rowsOf(
    db,
    `select id, dispatches from deployments
      where status in ('queued', 'building', 'releasing') and admitted_at is not null
        and (lease_expires_at is null or lease_expires_at < now())
        and updated_at < now() - :idleSeconds * interval '1 second'
      order by number limit 500`,
    { idleSeconds },
  );
}

/** Counts a further job for the record; undefined where somebody else just did. */
export async function countDispatch(
  trx: Transaction,
  table: 'deployments' | 'operations' | 'log_batches',
  id: string,
  dispatches: number,
): Promise<number | undefined> {
  const [row] = await rowsOf<{ dispatches: number }>(
    trx,
    'update ?? set dispatches = dispatches + 1 where id = ? and dispatches = ? returning dispatches',
    [table, id, dispatches],
  );
  return row?.dispatches;
}

/** Open operations that no worker holds and that nothing has touched for a while. */
export async function findAbandonedOperations(
  db: Db,
  idleSeconds: number,
): Promise<{ id: string; kind: OperationKind; dispatches: number }[]> {
  return rowsOf(
    db,
    `select id, kind, dispatches from operations
      where status in ('queued', 'running') and (lease_expires_at is null or lease_expires_at < now())
        and updated_at < now() - :idleSeconds * interval '1 second'
      order by created_at limit 500`,
    { idleSeconds },
  );
}
