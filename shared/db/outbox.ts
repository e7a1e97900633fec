import { type Db, rowsOf, type Transaction } from './client.js';

/** A job that waits for its transaction to commit. `payload` is what the queue's catalog says. */
export interface OutboxEntry {
  queue: string;
  record_id: string;
  dispatch: number;
  payload: Record<string, string>;
}

/** Writes a job in the transaction that makes it necessary; not before `delayMs` from now. */
export async function insertOutbox(trx: Db, entry: OutboxEntry, delayMs = 0): Promise<void> {
  await trx.raw(
    `insert into outbox (queue, record_id, dispatch, payload, not_before)
     values (:queue, :record_id, :dispatch, :payload, now() + :delayMs * interval '1 millisecond')`,
    { ...entry, payload: JSON.stringify(entry.payload), delayMs },
  );
}

/**
 * Takes due entries away, oldest first; they are gone when the transaction commits. Entries that another process has
 * taken are passed over.
 */
export async function takeOutbox(trx: Transaction, limit: number): Promise<OutboxEntry[]> {
  return rowsOf<OutboxEntry>(
    trx,
    `with due as (
       select id from outbox where not_before <= now() order by id limit :limit for update skip locked
     ), taken as (
       delete from outbox o using due where o.id = due.id returning o.*
     )
     select queue, record_id, dispatch, payload from taken order by id`,
    { limit },
  );
}
