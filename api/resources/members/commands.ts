import { type Db, oneRow, rowsOf, type Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { dropMember, setRole } from '../../../shared/identity/commands.js';
import type { Role } from '../../../shared/identity/policy.js';
import { HAS_SECOND_FACTOR } from '../../../shared/identity/second-factor-store.js';
import { findMembership, revokeKeysOfMember } from '../../../shared/identity/store.js';
import { lockWorkspace } from '../../../shared/workspaces/store.js';

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

export function listMembers(db: Db, workspaceId: string): Promise<MemberView[]> {
  return rowsOf<MemberView>(db, `${MEMBERS} order by m.created_at, m.user_id`, { workspaceId });
}

function findMember(db: Db, workspaceId: string, userId: string): Promise<MemberView | null> {
  return oneRow<MemberView>(db, `${MEMBERS} and m.user_id = :userId`, { workspaceId, userId });
}

async function countMembers(db: Db, workspaceId: string): Promise<number> {
  const [row] = await rowsOf<{ members: number }>(
    db,
    'select count(*)::int as members from memberships where workspace_id = ?',
    [workspaceId],
  );
  return row?.members ?? 0;
}

/** Maximum number of members per workspace. Their list is not paginated. */
const MAX_MEMBERS = 500;

interface Change {
  workspaceId: string;
  actorId: string;
}

/** Changes a member's role, and ends the invitations that the member sent. Throws not_found, forbidden, conflict. */
export async function changeMember(
  trx: Transaction,
  { workspaceId, actorId, userId, role }: Change & { userId: string; role: Role },
): Promise<MemberView> {
  const actor = await lockForActor(trx, { workspaceId, actorId });
  const member = await memberOrThrow(trx, workspaceId, userId);
  assertSetsRole(actor, role, member.role);
  await setRole(trx, workspaceId, { id: userId, email: member.email }, role);
  return { ...member, role };
}

/** Removes a member with their keys and the invitations that they sent. Throws not_found, forbidden, conflict. */
export async function endMembership(
  trx: Transaction,
  { workspaceId, actorId, userId }: Change & { userId: string },
): Promise<void> {
  const actor = await lockForActor(trx, { workspaceId, actorId });
  const member = await memberOrThrow(trx, workspaceId, userId);
  assertSetsRole(actor, member.role);
  await revokeKeysOfMember(trx, workspaceId, userId);
  await dropMember(trx, workspaceId, { id: userId, email: member.email });
}

/** Locks the workspace, so that changes to its members are serialized. Returns the calling member's role. */
export async function lockForActor(trx: Transaction, { workspaceId, actorId }: Change): Promise<Role> {
  await lockWorkspace(trx, workspaceId);
  const actor = await findMembership(trx, workspaceId, actorId);
  if (!actor) throw new AppError('not_found');
  return actor.role;
}

/** Throws forbidden if a member with the role `actor` may not grant or revoke one of these roles. */
export function assertSetsRole(actor: Role, ...roles: Role[]): void {
  if (actor === 'owner' || !roles.includes('owner')) return;
  throw new AppError('forbidden', 'Only an owner makes, changes or removes an owner');
}

export async function hasRoomForMember(trx: Transaction, workspaceId: string): Promise<boolean> {
  return (await countMembers(trx, workspaceId)) < MAX_MEMBERS;
}

export async function assertRoomForMember(trx: Transaction, workspaceId: string): Promise<void> {
  if (!(await hasRoomForMember(trx, workspaceId)))
    throw new AppError('capacity_exceeded', `A workspace has at most ${MAX_MEMBERS} members`);
}

async function memberOrThrow(trx: Transaction, workspaceId: string, userId: string): Promise<MemberView> {
  const member = await findMember(trx, workspaceId, userId);
  if (!member) throw new AppError('not_found', 'There is no such member');
  return member;
}
