import { type Db, lockUntilCommit, rowsOf, type Transaction } from '../core/database/client.js';

/** Identifies one request of one caller (specification, Limits). */
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

/** The receipt of a key, if it has not expired. Locks the key: concurrent requests with it wait until this one commits. */
export async function findReceipt(trx: Transaction, { scope, key }: ReceiptKey): Promise<Receipt | undefined> {
  await lockUntilCommit(trx, `receipt ${scope} ${key}`);
  return trx('receipts').where({ scope, key }).whereRaw('expires_at > now()').first('payload_hash', 'status', 'body');
}

/** Stores the answer of a write, in the write's own transaction; an expired receipt of the key is replaced. */
export async function insertReceipt(
  trx: Transaction,
  { scope, key }: ReceiptKey,
  receipt: Receipt,
  workspaceId: string | null,
): Promise<void> {
  const size = Buffer.byteLength(receipt.body);
  await trx('receipts')
    .insert({ scope, key, ...receipt, workspace_id: workspaceId, size, expires_at: trx.raw(`now() + ${RETENTION}`) })
    .onConflict(['scope', 'key'])
    .merge();
}

/** The number of a workspace's retained receipts and the bytes of their bodies. */
export async function receiptTotals(db: Db, workspaceId: string): Promise<{ count: number; bytes: number }> {
  const [row] = await rowsOf<{ count: number; bytes: number }>(
    db,
    `select count(*)::int as count, coalesce(sum(size), 0)::float8 as bytes from receipts
      where workspace_id = :workspaceId and expires_at > now()`,
    { workspaceId },
  );
  return row ?? { count: 0, bytes: 0 };
}

/** Retention: deletes receipts that have expired. Returns how many. */
export async function deleteExpiredReceipts(db: Db): Promise<number> {
  return db('receipts').whereRaw('expires_at <= now()').delete();
}
