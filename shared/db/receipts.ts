import { type Db, lockUntilCommit, type Transaction } from './client.js';

/** What a key stands for: one caller's one request (specification, Limits). */
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

/** The receipt that is still retained; concurrent requests with the same key wait here for the first one's commit. */
export async function findReceipt(trx: Transaction, { scope, key }: ReceiptKey): Promise<Receipt | undefined> {
  await lockUntilCommit(trx, `receipt ${scope} ${key}`);
  return trx('receipts').where({ scope, key }).whereRaw('expires_at > now()').first('payload_hash', 'status', 'body');
}

/** Keeps the answer of a write, in the write's own transaction; an expired receipt of the key is replaced. */
export async function insertReceipt(trx: Transaction, { scope, key }: ReceiptKey, receipt: Receipt): Promise<void> {
  await trx('receipts')
    .insert({ scope, key, ...receipt, expires_at: trx.raw(`now() + ${RETENTION}`) })
    .onConflict(['scope', 'key'])
    .merge();
}

/** Retention: forgets receipts that have expired. Returns how many. */
export async function deleteExpiredReceipts(db: Db): Promise<number> {
  return db('receipts').whereRaw('expires_at <= now()').delete();
}
