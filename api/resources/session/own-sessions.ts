import { type Db, rowCountOf, rowsOf } from '../../../shared/core/database/database-client.js';
import type { SessionRow } from '../../../shared/identity/rows.js';
import { IDLE } from '../../../shared/identity/session-store.js';

/** Returns a user's active sessions, most recently used first. */
export function listSessions(db: Db, userId: string): Promise<SessionRow[]> {
  return rowsOf<SessionRow>(
    db,
    `select * from sessions where user_id = ? and expires_at > now() and seen_at > now() - ${IDLE}
      order by seen_at desc, id desc`,
    [userId],
  );
}

/** Ends a session of the user. Returns false if the user has no such session. */
export async function endSession(db: Db, userId: string, id: string): Promise<boolean> {
  return (await rowCountOf(db, 'delete from sessions where user_id = ? and id = ?', [userId, id])) > 0;
}
