import type { Role } from '../domain/roles.js';
import { type Db, rowsOf } from './client.js';
import type { ApiKeyRow, UserRow, WorkspaceRow } from './rows.js';

/** A key with what its owner is like at this moment. */
export type KeyWithOwner = ApiKeyRow & Pick<UserRow, 'email' | 'email_verified_at' | 'totp_confirmed_at'>;

/** The key of a public part, with its owner; whether it is revoked or expired is the caller's to judge. */
export async function findKeyWithOwner(db: Db, lookup: string): Promise<KeyWithOwner | undefined> {
  const [row] = await rowsOf<KeyWithOwner>(
    db,
    `select k.*, u.email, u.email_verified_at, u.totp_confirmed_at from api_keys k join users u on u.id = k.user_id where k.lookup = ?`,
    [lookup],
  );
  return row;
}

/** Notes that a key was used just now. */
export async function touchKey(db: Db, id: string): Promise<void> {
  await db.raw('update api_keys set last_used_at = now() where id = ?', [id]);
}

/** A workspace as one user sees it: his role is null where he is no member. */
export type WorkspaceAccessRow = WorkspaceRow & { role: Role | null };

export async function findWorkspaceAccess(
  db: Db,
  workspaceId: string,
  userId: string,
): Promise<WorkspaceAccessRow | undefined> {
  const [row] = await rowsOf<WorkspaceAccessRow>(
    db,
    `select w.*, m.role from workspaces w left join memberships m on m.workspace_id = w.id and m.user_id = :userId
      where w.id = :workspaceId`,
    { workspaceId, userId },
  );
  return row;
}
