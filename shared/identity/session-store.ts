import { v7 as uuidv7 } from 'uuid';
import { anyRow, type Db, oneRow, theRow } from '../core/database/database-client.js';
import type { SessionRow, UserRow } from './rows.js';

const REMEMBERED = `interval '90 days'`;
const CLIENTS_OF_A_USER = 20;

/** Returns true if the user has signed in from this client within the last 90 days. */
export function isKnownClient(db: Db, email: string, client: string): Promise<boolean> {
  return anyRow(
    db,
    `select from known_clients k join users u on u.id = k.user_id
      where u.email = :email and k.client = :client and k.seen_at > now() - ${REMEMBERED}`,
    { email, client },
  );
}

/** Records that the user signed in from the client. Keeps the user's 20 latest clients of the last 90 days. */
export async function rememberClient(db: Db, userId: string, client: string): Promise<void> {
  await db.raw(
    `insert into known_clients (user_id, client) values (:userId, :client)
     on conflict (user_id, client) do update set seen_at = now()`,
    { userId, client },
  );
  await db.raw(
    `delete from known_clients where user_id = :userId and (seen_at <= now() - ${REMEMBERED} or client not in (
       select client from known_clients where user_id = :userId order by seen_at desc limit ${CLIENTS_OF_A_USER}))`,
    { userId },
  );
}

export const IDLE = `interval '12 hours'`;
const LIFETIME = `interval '7 days'`;

const SESSIONS_OF_A_USER = 50;

export type SessionWithUser = SessionRow &
  Pick<UserRow, 'email' | 'email_verified_at' | 'totp_confirmed_at'> & { has_password: boolean };

export function insertSession(
  db: Db,
  session: {
    userId: string;
    tokenHash: Buffer;
    secondFactor: boolean;
    client: string | null;
    byPassword: boolean;
    origin?: string;
    userAgent?: string;
  },
): Promise<SessionRow> {
  return theRow<SessionRow>(
    db,
    `insert into sessions (id, user_id, token_hash, second_factor, client, by_password, origin, user_agent, expires_at)
     values (:id, :userId, :tokenHash, :secondFactor, :client, :byPassword, :origin, :userAgent, now() + ${LIFETIME}) returning *`,
    { id: uuidv7(), origin: '', userAgent: '', ...session },
  );
}

/**
 * Returns true if the session is at most ten minutes old and its user has no password. Such a user cannot confirm an
 * action with a password, so the recent sign-in counts instead.
 */
export function isFreshWithoutPassword(db: Db, id: string): Promise<boolean> {
  return anyRow(
    db,
    `select from sessions s join users u on u.id = s.user_id
      where s.id = :id and u.password_hash is null and s.created_at > now() - interval '10 minutes'`,
    { id },
  );
}

/** Ends a user's least recently used sessions beyond the maximum. */
export async function endSurplusSessions(db: Db, userId: string): Promise<void> {
  await db.raw(
    `delete from sessions where id in (
       select id from sessions where user_id = ? order by seen_at desc, id desc offset ${SESSIONS_OF_A_USER})`,
    [userId],
  );
}

/**
 * Returns the session with this token hash; null if it is unknown, expired or was idle for too long. A session that was
 * started without TLS is valid for one client only. Pass null as `client` for a request over TLS.
 */
export function findSession(db: Db, tokenHash: Buffer, client: string | null): Promise<SessionWithUser | null> {
  return oneRow<SessionWithUser>(
    db,
    `select s.*, u.email, u.email_verified_at, u.totp_confirmed_at, u.password_hash is not null as has_password
       from sessions s join users u on u.id = s.user_id
      where s.token_hash = :tokenHash and s.client is not distinct from :client
        and s.expires_at > now() and s.seen_at > now() - ${IDLE}`,
    { tokenHash, client },
  );
}

export async function recordSessionUse(db: Db, id: string): Promise<void> {
  await db.raw('update sessions set seen_at = now() where id = ?', [id]);
}

/** Replaces a session's token and privileges. Returns null if the session has ended. */
export function rotateSession(
  db: Db,
  id: string,
  change: { tokenHash: Buffer; secondFactor: boolean },
): Promise<SessionRow | null> {
  return oneRow<SessionRow>(
    db,
    'update sessions set token_hash = :tokenHash, second_factor = :secondFactor where id = :id returning *',
    { id, ...change },
  );
}

export async function deleteSession(db: Db, tokenHash: Buffer): Promise<void> {
  await db.raw('delete from sessions where token_hash = ?', [tokenHash]);
}

export async function deleteOtherSessions(db: Db, userId: string, keptId: string): Promise<void> {
  await db.raw('delete from sessions where user_id = ? and id <> ?', [userId, keptId]);
}

export async function deleteSessions(db: Db, userId: string): Promise<void> {
  await db.raw('delete from sessions where user_id = ?', [userId]);
}

export async function deleteExpiredSessions(db: Db): Promise<number> {
  return db('sessions').whereRaw(`expires_at <= now() or seen_at <= now() - ${IDLE}`).delete();
}
