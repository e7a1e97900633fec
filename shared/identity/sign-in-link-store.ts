import { v7 as uuidv7 } from 'uuid';
import { type Db, rowsOf, type Transaction } from '../core/database/database-client.js';
import type { UserRow } from './rows.js';

/** A link that was not opened expires after this time. */
const LIFETIME = `interval '15 minutes'`;

export async function insertSignInLink(db: Db, link: { userId: string; tokenHash: Buffer }): Promise<void> {
  await db.raw(
    `insert into sign_in_links (id, user_id, token_hash, expires_at)
     values (:id, :userId, :tokenHash, now() + ${LIFETIME})`,
    { id: uuidv7(), ...link },
  );
}

const USER = `select u.* from sign_in_links l join users u on u.id = l.user_id
  where l.token_hash = :tokenHash and l.expires_at > now()`;

/** Returns the user of a link that is still valid. */
export async function findSignInLink(db: Db, tokenHash: Buffer): Promise<UserRow | undefined> {
  return (await rowsOf<UserRow>(db, USER, { tokenHash }))[0];
}

/** Finds the link's user and locks the link. If two requests use it at once, the second waits and finds nothing. */
export async function lockSignInLink(trx: Transaction, tokenHash: Buffer): Promise<UserRow | undefined> {
  return (await rowsOf<UserRow>(trx, `${USER} for update of l`, { tokenHash }))[0];
}

export async function deleteSignInLink(db: Db, tokenHash: Buffer): Promise<void> {
  await db.raw('delete from sign_in_links where token_hash = ?', [tokenHash]);
}

/** Deletes links that have expired. Returns how many. */
export async function deleteExpiredSignInLinks(db: Db): Promise<number> {
  return db('sign_in_links').whereRaw('expires_at <= now()').delete();
}
