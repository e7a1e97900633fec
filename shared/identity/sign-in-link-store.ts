import { v7 as uuidv7 } from 'uuid';
import { type Db, oneRow, type Transaction } from '../core/database/database-client.js';
import type { UserRow } from './rows.js';

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

/** Returns the user of a sign-in link; undefined if the link is unknown, used or expired. */
export async function findSignInLink(db: Db, tokenHash: Buffer): Promise<UserRow | undefined> {
  return (await oneRow<UserRow>(db, USER, { tokenHash })) ?? undefined;
}

/** Returns the link's user and locks the link. Of two concurrent requests, the second waits and then finds nothing. */
export async function lockSignInLink(trx: Transaction, tokenHash: Buffer): Promise<UserRow | undefined> {
  return (await oneRow<UserRow>(trx, `${USER} for update of l`, { tokenHash })) ?? undefined;
}

/**
 * Moves the record of an OpenID Connect sign-in from a sign-in link to the session that it started. Until the user has
 * entered the second factor, there is no session, and the record belongs to the link.
 */
export async function moveProviderSignIn(db: Db, of: { tokenHash: Buffer; sessionId: string }): Promise<void> {
  await db.raw(
    `update provider_sign_ins p set session_id = :sessionId, link_id = null
       from sign_in_links l where l.id = p.link_id and l.token_hash = :tokenHash`,
    of,
  );
}

export async function deleteSignInLink(db: Db, tokenHash: Buffer): Promise<void> {
  await db.raw('delete from sign_in_links where token_hash = ?', [tokenHash]);
}

export async function deleteExpiredSignInLinks(db: Db): Promise<number> {
  return db('sign_in_links').whereRaw('expires_at <= now()').delete();
}
