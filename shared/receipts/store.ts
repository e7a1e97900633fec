import { type Db, rowsOf, type Transaction } from '../core/database/client.js';
import type { Statement } from '../core/database/paired-writes.js';
import { prepare, rowOfPrepared, rowsOfPrepared } from '../core/database/prepared.js';

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

/** A write that is done once for its key. */
export interface KeyedWrite<Row> {
  key: ReceiptKey;
  workspaceId: string | null;
  /** What is stored of a write that has returned this row. */
  receiptOf: (row: Row) => Receipt;
}

const RETENTION = `interval '24 hours'`;

const LOCK = prepare('select pg_advisory_xact_lock(hashtextextended($1, 0))');

const FIND = prepare<Receipt>(
  'select payload_hash, status, body from receipts where scope = $1 and key = $2 and expires_at > now()',
);

/**
 * The receipt of a key, if it has not expired. Locks the key: concurrent requests with it wait until this one commits.
 * Two statements, because one that waits for a lock does not see what was committed meanwhile. They are sent at once, and
 * PostgreSQL runs them one after the other.
 */
export async function findReceipt(trx: Transaction, { scope, key }: ReceiptKey): Promise<Receipt | undefined> {
  const [, receipt] = await Promise.all([
    rowsOfPrepared(trx, LOCK, [lockName({ scope, key })]),
    rowOfPrepared(trx, FIND, [scope, key]),
  ]);
  return receipt ?? undefined;
}

function lockName({ scope, key }: ReceiptKey): string {
  return `receipt ${scope} ${key}`;
}

/**
 * A condition in SQL. It locks the key until the transaction ends, and is true if no other transaction holds that lock and the
 * key has no receipt. Its parameters, from `$first` on, are those of `firstWriteValues`.
 *
 * It can be true although a receipt exists: if another transaction stores one after this statement took its snapshot. Then
 * `newReceipt` violates the unique index, and the transaction fails.
 */
export function isFirstWrite(first: number): string {
  return `(select pg_try_advisory_xact_lock(hashtextextended($${first}, 0)))
    and not exists (select from receipts where scope = $${first + 1} and key = $${first + 2} and expires_at > now())`;
}

export function firstWriteValues(key: ReceiptKey): unknown[] {
  return [lockName(key), key.scope, key.key];
}

const STORE = `insert into receipts (scope, key, payload_hash, status, body, workspace_id, size, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, now() + ${RETENTION})`;

const INSERT_NEW = prepare<never>(STORE);

/** Stores a receipt. Violates a unique index if the key has one, also if that has expired. */
export function newReceipt(key: ReceiptKey, receipt: Receipt, workspaceId: string | null): Statement<never> {
  return { statement: INSERT_NEW, values: receiptValues(key, receipt, workspaceId) };
}

function receiptValues(
  { scope, key }: ReceiptKey,
  { payload_hash, status, body }: Receipt,
  workspaceId: string | null,
) {
  return [scope, key, payload_hash, status, body, workspaceId, Buffer.byteLength(body)];
}

const INSERT = prepare(
  `${STORE}
   on conflict (scope, key) do update
      set payload_hash = excluded.payload_hash, status = excluded.status, body = excluded.body,
          workspace_id = excluded.workspace_id, size = excluded.size, expires_at = excluded.expires_at`,
);

/** Stores the answer of a write, in the write's own transaction; an expired receipt of the key is replaced. */
export async function insertReceipt(
  trx: Transaction,
  key: ReceiptKey,
  receipt: Receipt,
  workspaceId: string | null,
): Promise<void> {
  await rowsOfPrepared(trx, INSERT, receiptValues(key, receipt, workspaceId));
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
