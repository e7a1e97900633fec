import { v7 as uuidv7 } from 'uuid';
import {
  type Db,
  lockUntilCommit,
  rowCountOf,
  type Transaction,
} from '../../../../shared/core/database/database-client.js';
import { AppError, conflict } from '../../../../shared/core/error-registry.js';
import type { UserRow } from '../../../../shared/identity/rows.js';

const MAX_PASSKEYS = 20;

export interface PasskeyRow {
  id: string;
  user_id: string;
  name: string;
  credential_id: string;
  public_key: Buffer;
  counter: number;
  created_at: Date;
  used_at: Date | null;
}

export function listPasskeys(db: Db, userId: string): Promise<PasskeyRow[]> {
  return db<PasskeyRow>('passkeys').where({ user_id: userId }).orderBy('id');
}

/** Stores a passkey. Throws capacity_exceeded, and conflict if the passkey is already registered. */
export async function insertPasskey(
  trx: Transaction,
  passkey: Pick<PasskeyRow, 'user_id' | 'name' | 'credential_id' | 'public_key' | 'counter'>,
): Promise<PasskeyRow> {
  await lockUntilCommit(trx, `ranvier.passkeys:${passkey.user_id}`);
  if ((await listPasskeys(trx, passkey.user_id)).length >= MAX_PASSKEYS)
    throw new AppError('capacity_exceeded', `You have ${MAX_PASSKEYS} passkeys; delete one first`);
  const [row] = await trx<PasskeyRow>('passkeys')
    .insert({ id: uuidv7(), ...passkey })
    .onConflict('credential_id')
    .ignore()
    .returning('*');
  if (row === undefined) throw conflict('This passkey is registered already');
  return row;
}

export async function deletePasskey(db: Db, userId: string, id: string): Promise<boolean> {
  return (await rowCountOf(db, 'delete from passkeys where user_id = ? and id = ?', [userId, id])) > 0;
}

export async function findPasskey(
  db: Db,
  credentialId: string,
): Promise<{ passkey: PasskeyRow; user: UserRow } | null> {
  const passkey = await db<PasskeyRow>('passkeys').where({ credential_id: credentialId }).first();
  const user = passkey && (await db<UserRow>('users').where({ id: passkey.user_id }).first());
  return passkey && user ? { passkey, user } : null;
}

/**
 * Records the use of a passkey. Returns false if the passkey's counter did not rise, because the passkey may then be a
 * copy. Passkeys without a counter always send 0.
 */
export async function recordPasskeyUse(db: Db, { id, counter }: Pick<PasskeyRow, 'id' | 'counter'>): Promise<boolean> {
  const used = `update passkeys set counter = :counter, used_at = now()
    where id = :id and (counter < :counter or (counter = 0 and :counter = 0))`;
  return (await rowCountOf(db, used, { id, counter })) > 0;
}
