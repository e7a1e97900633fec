import { v7 as uuidv7 } from 'uuid';
import type { KeyScope, Role } from '../domain/roles.js';
import type { WorkspaceConfiguration } from '../domain/workspace.js';
import { type Db, rowsOf, type Transaction } from './client.js';
import type { ApiKeyRow, MembershipRow, UserRow, WorkspaceRow } from './rows.js';

/** Null where the address is taken already. Addresses are stored in lower case. */
export async function insertUser(
  db: Db,
  user: { email: string; passwordHash: string; verified: boolean },
): Promise<UserRow | null> {
  return one<UserRow>(
    db,
    `insert into users (id, email, password_hash, email_verified_at)
     values (:id, :email, :passwordHash, case when :verified then now() end)
     on conflict (email) do nothing returning *`,
    { id: uuidv7(), ...user },
  );
}

export function findUserByEmail(db: Db, email: string): Promise<UserRow | null> {
  return one<UserRow>(db, 'select * from users where email = :email', { email });
}

/** A new password ends every session that the old one began. */
export async function setPasswordHash(db: Db, userId: string, passwordHash: string): Promise<void> {
  await db.raw(
    `with ended as (delete from sessions where user_id = :userId)
     update users set password_hash = :passwordHash where id = :userId`,
    { userId, passwordHash },
  );
}

/** The user may prove that the address is his by the token of this hash, for a day; an earlier token is void. */
export async function setVerification(db: Db, userId: string, tokenHash: Buffer): Promise<void> {
  await db.raw(
    `update users set verification_hash = :tokenHash, verification_expires_at = now() + interval '1 day'
      where id = :userId`,
    { userId, tokenHash },
  );
}

/** Marks the address of whoever holds the token as verified; false where the token is none, used or expired. */
export async function takeVerification(db: Db, tokenHash: Buffer): Promise<boolean> {
  const user = await one<{ id: string }>(
    db,
    `update users set email_verified_at = coalesce(email_verified_at, now()),
                      verification_hash = null, verification_expires_at = null
      where verification_hash = :tokenHash and verification_expires_at > now() returning id`,
    { tokenHash },
  );
  return user !== null;
}

export async function insertWorkspace(db: Db, workspace: { name: string; plan: string }): Promise<WorkspaceRow> {
  return some(
    await one<WorkspaceRow>(db, 'insert into workspaces (id, name, plan) values (:id, :name, :plan) returning *', {
      id: uuidv7(),
      ...workspace,
    }),
  );
}

export function findWorkspace(db: Db, id: string): Promise<WorkspaceRow | null> {
  return one<WorkspaceRow>(db, 'select * from workspaces where id = :id', { id });
}

/** Locks the workspace until the commit: changes of its settings and members wait for each other. */
export function lockWorkspace(trx: Transaction, id: string): Promise<WorkspaceRow | null> {
  return one<WorkspaceRow>(trx, 'select * from workspaces where id = :id for update', { id });
}

export async function updateWorkspaceConfiguration(
  db: Db,
  id: string,
  changes: Partial<WorkspaceConfiguration>,
): Promise<WorkspaceRow> {
  return some(
    await one<WorkspaceRow>(
      db,
      `update workspaces set configuration = configuration || cast(:changes as jsonb), updated_at = now()
       where id = :id returning *`,
      { id, changes: JSON.stringify(changes) },
    ),
  );
}

export async function updateWorkspacePlan(db: Db, id: string, plan: string): Promise<WorkspaceRow> {
  return some(
    await one<WorkspaceRow>(db, 'update workspaces set plan = :plan, updated_at = now() where id = :id returning *', {
      id,
      plan,
    }),
  );
}

export function findMembership(db: Db, workspaceId: string, userId: string): Promise<MembershipRow | null> {
  return one<MembershipRow>(db, 'select * from memberships where workspace_id = :workspaceId and user_id = :userId', {
    workspaceId,
    userId,
  });
}

/** Makes the user a member with this role, whether he was one before or not. */
export async function upsertMembership(
  db: Db,
  membership: { workspaceId: string; userId: string; role: Role },
): Promise<MembershipRow> {
  return some(
    await one<MembershipRow>(
      db,
      `insert into memberships (workspace_id, user_id, role) values (:workspaceId, :userId, :role)
       on conflict (workspace_id, user_id) do update set role = excluded.role returning *`,
      membership,
    ),
  );
}

export async function deleteMembership(db: Db, workspaceId: string, userId: string): Promise<void> {
  await db.raw('delete from memberships where workspace_id = :workspaceId and user_id = :userId', {
    workspaceId,
    userId,
  });
}

/** How many owners the workspace has besides this user. */
export async function countOtherOwners(db: Db, workspaceId: string, userId: string): Promise<number> {
  const [row] = await rowsOf<{ owners: number }>(
    db,
    `select count(*)::int as owners from memberships
     where workspace_id = :workspaceId and user_id <> :userId and role = 'owner'`,
    { workspaceId, userId },
  );
  return row?.owners ?? 0;
}

/** The workspaces a user belongs to with his role in each, oldest first. */
export function workspacesOf(db: Db, userId: string): Promise<(WorkspaceRow & { role: Role })[]> {
  return rowsOf<WorkspaceRow & { role: Role }>(
    db,
    `select w.*, m.role from memberships m join workspaces w on w.id = m.workspace_id
     where m.user_id = :userId order by w.created_at, w.id`,
    { userId },
  );
}

export interface ApiKeyInput {
  workspaceId: string;
  userId: string;
  name: string;
  scope: KeyScope;
  lookup: string;
  secretHash: Buffer;
  expiresAt: Date | null;
}

export async function insertApiKey(db: Db, key: ApiKeyInput): Promise<ApiKeyRow> {
  return some(
    await one<ApiKeyRow>(
      db,
      `insert into api_keys (id, workspace_id, user_id, name, scope, lookup, secret_hash, expires_at)
       values (:id, :workspaceId, :userId, :name, :scope, :lookup, :secretHash, :expiresAt) returning *`,
      { id: uuidv7(), ...key },
    ),
  );
}

/** The row of a key's public part; whether it is revoked or expired is the caller's to judge. */
export function findApiKey(db: Db, lookup: string): Promise<ApiKeyRow | null> {
  return one<ApiKeyRow>(db, 'select * from api_keys where lookup = :lookup', { lookup });
}

export function listApiKeys(db: Db, workspaceId: string): Promise<(ApiKeyRow & { email: string })[]> {
  return rowsOf<ApiKeyRow & { email: string }>(
    db,
    `select k.*, u.email from api_keys k join users u on u.id = k.user_id
     where k.workspace_id = :workspaceId order by k.created_at, k.id`,
    { workspaceId },
  );
}

/** Revokes once; a second time changes nothing. Null where there is no such key. */
export function revokeApiKey(db: Db, id: string): Promise<ApiKeyRow | null> {
  return one<ApiKeyRow>(db, 'update api_keys set revoked_at = coalesce(revoked_at, now()) where id = :id returning *', {
    id,
  });
}

async function one<T>(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2]): Promise<T | null> {
  const [row] = await rowsOf<T>(db, sql, bindings);
  return row ?? null;
}

function some<T>(row: T | null): T {
  if (row === null) throw new Error('the statement returned no row');
  return row;
}
