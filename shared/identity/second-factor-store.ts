import { type Db, rowCountOf, type Transaction } from '../core/database/database-client.js';
import type { UserRow } from './rows.js';

/** Reads a user and locks the row until the commit. Called before a change of the second factor. */
export async function lockUser(trx: Transaction, id: string): Promise<UserRow | undefined> {
  return trx<UserRow>('users').where({ id }).forUpdate().first();
}

/** Stores a secret that the user has not confirmed yet. Replaces an earlier unconfirmed one. */
export async function setUnconfirmedTotp(db: Db, userId: string, sealed: Buffer): Promise<void> {
  await db.raw('update users set totp_sealed = :sealed, totp_counter = null where id = :userId', { userId, sealed });
}

/** Marks a code's time step as used. Returns false if this step or a later one was used before. */
export async function useTotpCounter(db: Db, userId: string, counter: number): Promise<boolean> {
  const changed = await rowCountOf(
    db,
    `update users set totp_counter = :counter
      where id = :userId and (totp_counter is null or totp_counter < :counter)`,
    { userId, counter },
  );
  return changed > 0;
}

export async function confirmTotp(db: Db, userId: string): Promise<void> {
  await db.raw('update users set totp_confirmed_at = now() where id = ?', [userId]);
}

export async function clearTotp(db: Db, userId: string): Promise<void> {
  await db.raw('update users set totp_sealed = null, totp_confirmed_at = null, totp_counter = null where id = ?', [
    userId,
  ]);
}
