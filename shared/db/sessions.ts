import { v7 as uuidv7 } from 'uuid';
import { type Db, rowsOf } from './client.js';
import type { SessionRow, UserRow } from './rows.js';

/** A session ends when it has not been used for so long, and in any case at its `expires_at`. */
const IDLE = `interval '12 hours'`;
const LIFETIME = `interval '7 days'`;

/** A session with what its user is like at this moment. */
export type SessionWithUser = SessionRow & Pick<UserRow, 'email' | 'email_verified_at' | 'totp_confirmed_at'>;

export async function insertSession(
  db: Db,
  session: { userId: string; tokenHash: Buffer; secondFactor: boolean },
): Promise<SessionRow> {
  const [row] = await rowsOf<SessionRow>(
    db,
    `insert into sessions (id, user_id, token_hash, second_factor, expires_at)
     values (:id, :userId, :tokenHash, :secondFactor, now() + ${LIFETIME}) returning *`,
    { id: uuidv7(), ...session },
  );
  if (!row) throw new Error('the session was not stored');
  return row;
}

/** The session of a token's hash, unless it has expired or was idle for too long. */
export async function findSession(db: Db, tokenHash: Buffer): Promise<SessionWithUser | undefined> {
  const [row] = await rowsOf<SessionWithUser>(
    db,
    `select s.*, u.email, u.email_verified_at, u.totp_confirmed_at from sessions s join users u on u.id = s.user_id
      where s.token_hash = :tokenHash and s.expires_at > now() and s.seen_at > now() - ${IDLE}`,
    { tokenHash },
  );
  return row;
}

/** Notes that a session was used just now. */
export async function touchSession(db: Db, id: string): Promise<void> {
  await db.raw('update sessions set seen_at = now() where id = ?', [id]);
}

/** The session goes on under another token, with the privileges it has from now on. Undefined where it has ended. */
export async function rotateSession(
  db: Db,
  id: string,
  change: { tokenHash: Buffer; secondFactor: boolean },
): Promise<SessionRow | undefined> {
  const [row] = await rowsOf<SessionRow>(
    db,
    'update sessions set token_hash = :tokenHash, second_factor = :secondFactor where id = :id returning *',
    { id, ...change },
  );
  return row;
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

/** Retention: forgets sessions that nobody can use any more. Returns how many. */
export async function deleteExpiredSessions(db: Db): Promise<number> {
  return db('sessions').whereRaw(`expires_at <= now() or seen_at <= now() - ${IDLE}`).delete();
}
