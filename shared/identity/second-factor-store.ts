import { anyRow, type Db, rowCountOf, type Transaction, theRow } from '../core/database/database-client.js';
import type { UserRow } from './rows.js';

export const HAS_SECOND_FACTOR = `(u.totp_confirmed_at is not null
  or exists (select from passkeys y where y.user_id = u.id))`;

export interface SecondFactors {
  totp: boolean;
  passkey: boolean;
  /** True if sign-in asks for a second factor. */
  asked: boolean;
}

/**
 * Returns which second factors the user has. Sign-in asks for a passkey only if one of the user's workspaces requires a
 * second factor. If it always asked, a user without the passkey's device could no longer sign in with the password.
 */
export async function secondFactorsOf(db: Db, userId: string): Promise<SecondFactors> {
  const { totp, passkey, required } = await theRow<{ totp: boolean; passkey: boolean; required: boolean }>(
    db,
    `select u.totp_confirmed_at is not null as totp,
            exists (select from passkeys y where y.user_id = u.id) as passkey,
            exists (select from memberships m join workspaces w on w.id = m.workspace_id
              where m.user_id = u.id and w.configuration ->> 'requireMfa' = 'true') as required
       from users u where u.id = :userId`,
    { userId },
  );
  return { totp, passkey, asked: totp || (passkey && required) };
}

/** Deletes a user's passkeys and returns their number. */
export function deletePasskeys(db: Db, userId: string): Promise<number> {
  return rowCountOf(db, 'delete from passkeys where user_id = ?', [userId]);
}

/** Reads a user and locks the row until the commit. Must precede a change of the second factor. */
export async function lockUser(trx: Transaction, id: string): Promise<UserRow | undefined> {
  return trx<UserRow>('users').where({ id }).forUpdate().first();
}

/** Stores a TOTP secret that the user has not confirmed yet, in place of an earlier unconfirmed one. */
export async function setUnconfirmedTotp(db: Db, userId: string, sealed: Buffer): Promise<void> {
  await db.raw('update users set totp_sealed = :sealed, totp_counter = null where id = :userId', { userId, sealed });
}

/** Records a TOTP code's time step as used. Returns false if this step or a later one was already used. */
export function useTotpCounter(db: Db, userId: string, counter: number): Promise<boolean> {
  return anyRow(
    db,
    `update users set totp_counter = :counter
      where id = :userId and (totp_counter is null or totp_counter < :counter)`,
    { userId, counter },
  );
}

export async function confirmTotp(db: Db, userId: string): Promise<void> {
  await db.raw('update users set totp_confirmed_at = now() where id = ?', [userId]);
}

export async function clearTotp(db: Db, userId: string): Promise<void> {
  await db.raw('update users set totp_sealed = null, totp_confirmed_at = null, totp_counter = null where id = ?', [
    userId,
  ]);
}
