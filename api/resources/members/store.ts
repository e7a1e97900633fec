import { type Db, oneRow, rowsOf } from '../../../shared/core/database/database-client.js';
import type { Role } from '../../../shared/identity/policy.js';
import { HAS_SECOND_FACTOR } from '../../../shared/identity/second-factor-store.js';

/** A member, with the user's e-mail address. */
export interface MemberView {
  user_id: string;
  email: string;
  role: Role;
  email_verified: boolean;
  second_factor: boolean;
  created_at: Date;
}

const MEMBERS = `select m.user_id, u.email, m.role, m.created_at,
    u.email_verified_at is not null as email_verified, ${HAS_SECOND_FACTOR} as second_factor
  from memberships m join users u on u.id = m.user_id where m.workspace_id = :workspaceId`;

/** Returns the members of a workspace in the order in which they joined. */
export function listMembers(db: Db, workspaceId: string): Promise<MemberView[]> {
  return rowsOf<MemberView>(db, `${MEMBERS} order by m.created_at, m.user_id`, { workspaceId });
}

export function findMember(db: Db, workspaceId: string, userId: string): Promise<MemberView | null> {
  return oneRow<MemberView>(db, `${MEMBERS} and m.user_id = :userId`, { workspaceId, userId });
}

export async function countMembers(db: Db, workspaceId: string): Promise<number> {
  const [row] = await rowsOf<{ members: number }>(
    db,
    'select count(*)::int as members from memberships where workspace_id = ?',
    [workspaceId],
  );
  return row?.members ?? 0;
}
