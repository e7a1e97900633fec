import { type Db, type Transaction, theRow } from '../core/database/database-client.js';
import { prepare, rowOfPrepared, rowsOfPrepared } from '../core/database/prepared.js';

/** Identifies a request of a caller by its Idempotency-Key (specification, Limits). */
export interface ReceiptKey {
  scope: string;
  key: string;
}

export interface Receipt {
  payload_hash: string;
  status: number;
  body: string;
}

const RETENTION = `interval '24 hours'`;

const LOCK = prepare('select pg_advisory_xact_lock(hashtextextended($1, 0))');

const FIND = prepare<Receipt>(
  'select payload_hash, status, body from receipts where scope = $1 and key = $2 and expires_at > now()',
);

/**
 * Returns the unexpired receipt for a key, which it locks until the commit. Uses two statements, because a statement
 * that waits for a lock does not see what is committed during the wait. PostgreSQL runs them in order.
 */
export async function findReceipt(trx: Transaction, { scope, key }: ReceiptKey): Promise<Receipt | undefined> {
  const [, receipt] = await Promise.all([
    rowsOfPrepared(trx, LOCK, [`receipt ${scope} ${key}`]),
    rowOfPrepared(trx, FIND, [scope, key]),
  ]);
  return receipt ?? undefined;
}

const INSERT = prepare(
  `insert into receipts (scope, key, payload_hash, status, body, workspace_id, size, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, now() + ${RETENTION})
   on conflict (scope, key) do update
      set payload_hash = excluded.payload_hash, status = excluded.status, body = excluded.body,
          workspace_id = excluded.workspace_id, size = excluded.size, expires_at = excluded.expires_at`,
);

/** Stores the response to a write. Must run in the transaction of the write. */
export async function insertReceipt(
  trx: Transaction,
  { scope, key }: ReceiptKey,
  { payload_hash, status, body }: Receipt,
  workspaceId: string | null,
): Promise<void> {
  const values = [scope, key, payload_hash, status, body, workspaceId, Buffer.byteLength(body)];
  await rowsOfPrepared(trx, INSERT, values);
}

/** Returns the number of a workspace's receipts and the total size of their bodies in bytes. */
export function receiptTotals(db: Db, workspaceId: string): Promise<{ count: number; bytes: number }> {
  return theRow(
    db,
    `select count(*)::int as count, coalesce(sum(size), 0)::float8 as bytes from receipts
      where workspace_id = :workspaceId and expires_at > now()`,
    { workspaceId },
  );
}

export async function deleteExpiredReceipts(db: Db): Promise<number> {
  return db('receipts').whereRaw('expires_at <= now()').delete();
}
