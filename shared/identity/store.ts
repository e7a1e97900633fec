import type { Knex } from 'knex';
import { v7 as uuidv7 } from 'uuid';
import { anyRow, countOf, type Db, oneRow, rowsOf, theRow } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import type { WorkspaceRow } from '../workspaces/model.js';
import type { KeyScope, Role } from './policy.js';
import type { ApiKeyRow, MembershipRow, UserRow } from './rows.js';
import { deleteSessions } from './session-store.js';

/** SQL: true if the workspace rejects sessions started with a password. `s` is its row of `workspace_sign_in`. */
const NEEDS_PROVIDER = 'coalesce(not s.passwords, false) as needs_provider';

/**
 * Stores a user. Returns null if the address is taken. A user without a password signs in with the OpenID Connect
 * provider.
 */
export async function insertUser(
  db: Db,
  user: { email: string; passwordHash: string | null; verified: boolean },
): Promise<UserRow | null> {
  return oneRow<UserRow>(
    db,
    `insert into users (id, email, password_hash, email_verified_at)
     values (:id, :email, :passwordHash, case when :verified then now() end)
     on conflict (email) do nothing returning *`,
    { id: uuidv7(), ...user },
  );
}

export function findUserByEmail(db: Db, email: string): Promise<UserRow | null> {
  return oneRow<UserRow>(db, 'select * from users where email = :email', { email });
}

/** Stores a new password and ends all of the user's sessions. */
export async function setPasswordHash(db: Db, userId: string, passwordHash: string): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.raw('update users set password_hash = :passwordHash where id = :userId', { userId, passwordHash });
    await deleteSessions(trx, userId);
  });
}

/** Stores the hash of a token that verifies the user's address within a day. Invalidates an earlier token. */
export async function setVerification(db: Db, userId: string, tokenHash: Buffer): Promise<void> {
  const expires = db.raw(`now() + interval '1 day'`);
  await db('users').where({ id: userId }).update({ verification_hash: tokenHash, verification_expires_at: expires });
}

/** Marks the address of the token's user as verified. Returns false if the token is unknown or expired. */
export function useVerificationToken(db: Db, tokenHash: Buffer): Promise<boolean> {
  return anyRow(
    db,
    `update users set email_verified_at = coalesce(email_verified_at, now()),
                      verification_hash = null, verification_expires_at = null
      where verification_hash = :tokenHash and verification_expires_at > now()`,
    { tokenHash },
  );
}

export function findMembership(db: Db, workspaceId: string, userId: string): Promise<MembershipRow | null> {
  const find = 'select * from memberships where workspace_id = :workspaceId and user_id = :userId';
  return oneRow<MembershipRow>(db, find, { workspaceId, userId });
}

const REVOKE_KEYS = `update api_keys set revoked_at = now()
  where workspace_id = :workspaceId and user_id = :userId and revoked_at is null`;

/**
 * Adds the user to the workspace with this role, or changes a member's role. Revokes the API keys of an earlier
 * membership, so that they do not become valid again.
 */
export function upsertMembership(
  db: Db,
  membership: { workspaceId: string; userId: string; role: Role },
): Promise<MembershipRow> {
  return theRow<MembershipRow>(
    db,
    `with stale as (${REVOKE_KEYS}
        and not exists (select from memberships where workspace_id = :workspaceId and user_id = :userId))
     insert into memberships (workspace_id, user_id, role) values (:workspaceId, :userId, :role)
     on conflict (workspace_id, user_id) do update set role = excluded.role returning *`,
    membership,
  );
}

export async function deleteMembership(db: Db, workspaceId: string, userId: string): Promise<void> {
  await db('memberships').where({ workspace_id: workspaceId, user_id: userId }).delete();
}

export function countOtherOwners(db: Db, workspaceId: string, userId: string): Promise<number> {
  return countOf(
    db,
    `select count(*) from memberships
      where workspace_id = :workspaceId and user_id <> :userId and role = 'owner'`,
    { workspaceId, userId },
  );
}

export type OwnWorkspaceRow = WorkspaceRow & {
  role: Role;
  /** True if a session that was started with a password cannot access the workspace. */
  needs_provider: boolean;
};

/** Returns the workspaces that a user belongs to, with the user's role in each, oldest first. */
export function workspacesOf(db: Db, userId: string): Promise<OwnWorkspaceRow[]> {
  return rowsOf<OwnWorkspaceRow>(
    db,
    `select w.*, m.role, ${NEEDS_PROVIDER} from memberships m join workspaces w on w.id = m.workspace_id
       left join workspace_sign_in s on s.workspace_id = w.id
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

export function insertApiKey(db: Db, key: ApiKeyInput): Promise<ApiKeyRow> {
  return theRow<ApiKeyRow>(
    db,
    `insert into api_keys (id, workspace_id, user_id, name, scope, lookup, secret_hash, expires_at)
     values (:id, :workspaceId, :userId, :name, :scope, :lookup, :secretHash, :expiresAt) returning *`,
    { id: uuidv7(), ...key },
  );
}

/** Returns the API key with this public part, even if it is revoked or expired: the caller must check. */
export function findApiKey(db: Db, lookup: string): Promise<ApiKeyRow | null> {
  return oneRow<ApiKeyRow>(db, 'select * from api_keys where lookup = :lookup', { lookup });
}

export function listApiKeys(db: Db, workspaceId: string): Promise<ApiKeyView[]> {
  return rowsOf<ApiKeyView>(
    db,
    `select k.*, u.email from api_keys k join users u on u.id = k.user_id
     where k.workspace_id = :workspaceId order by k.created_at, k.id`,
    { workspaceId },
  );
}

/** Revokes an API key; a second call changes nothing. Returns null if there is no such key. */
export function revokeApiKey(db: Db, id: string): Promise<ApiKeyRow | null> {
  const revoke = 'update api_keys set revoked_at = coalesce(revoked_at, now()) where id = :id returning *';
  return oneRow<ApiKeyRow>(db, revoke, { id });
}

export type ApiKeyView = ApiKeyRow & { email: string };

/** Returns the workspace's unrevoked API keys, newest first; with `userId`, only that member's. */
export function pageOfApiKeys(
  db: Db,
  workspaceId: string,
  userId: string | null,
  page: PageRequest,
): Promise<Page<ApiKeyView>> {
  const query: Knex.QueryBuilder<ApiKeyView> = db('api_keys as k')
    .join('users as u', 'u.id', 'k.user_id')
    .where('k.workspace_id', workspaceId)
    .whereNull('k.revoked_at')
    .select('k.*', 'u.email');
  if (userId !== null) query.where('k.user_id', userId);
  return fetchPage(query, 'k', page);
}

/** Counts a member's API keys that are not revoked, including expired ones. */
export function countApiKeys(db: Db, workspaceId: string, userId: string): Promise<number> {
  return countOf(
    db,
    `select count(*) from api_keys where workspace_id = :workspaceId and user_id = :userId and revoked_at is null`,
    { workspaceId, userId },
  );
}

/**
 * Revokes an API key of the workspace; with `userId`, only if it is that member's. Returns false if there is no such
 * unrevoked key.
 */
export function revokeWorkspaceKey(
  db: Db,
  { workspaceId, id, userId }: { workspaceId: string; id: string; userId: string | null },
): Promise<boolean> {
  return anyRow(
    db,
    `update api_keys set revoked_at = now()
      where id = :id and workspace_id = :workspaceId and revoked_at is null
        and (cast(:userId as uuid) is null or user_id = cast(:userId as uuid))`,
    { id, workspaceId, userId },
  );
}

/** Revokes all API keys of a user in a workspace. */
export async function revokeKeysOfMember(db: Db, workspaceId: string, userId: string): Promise<void> {
  await db.raw(REVOKE_KEYS, { workspaceId, userId });
}

export async function recordKeyUse(db: Db, id: string): Promise<void> {
  await db.raw('update api_keys set last_used_at = now() where id = ?', [id]);
}

export type WorkspaceAccessRow = WorkspaceRow & {
  role: Role | null;
  /** True if a session that was started with a password cannot access the workspace. Absent for an API key. */
  needs_provider?: boolean;
};

export async function findWorkspaceAccess(
  db: Db,
  workspaceId: string,
  userId: string,
): Promise<WorkspaceAccessRow | undefined> {
  const row = await oneRow<WorkspaceAccessRow>(
    db,
    `select w.*, m.role, ${NEEDS_PROVIDER}
       from workspaces w left join memberships m on m.workspace_id = w.id and m.user_id = :userId
       left join workspace_sign_in s on s.workspace_id = w.id
      where w.id = :workspaceId`,
    { workspaceId, userId },
  );
  return row ?? undefined;
}
