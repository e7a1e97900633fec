import { Type } from 'typebox';
import { type ErrorObject, loadAjv } from '../core/ajv.js';
import type { Db, Transaction } from '../core/database/database-client.js';
import { AppError, conflict, type ErrorDetail, invalidField } from '../core/error-registry.js';
import { lazily } from '../core/lazily.js';
import { plainName } from '../core/plain-text.js';
import { stringFormats } from '../core/string-formats.js';
import { newApiKey } from '../secrets/api-key.js';
import { hashPassword, newPassword } from '../secrets/password.js';
import type { PlanId } from '../services/plan-catalog.js';
import { type WorkspaceConfiguration, WorkspaceConfigurationSchema, type WorkspaceRow } from '../workspaces/model.js';
import {
  insertWorkspace,
  lockWorkspaceOrThrow,
  updateWorkspaceConfiguration,
  updateWorkspacePlan,
  workspaceOf,
} from '../workspaces/store.js';
import { endInvitations, endInvitationsBy } from './invitation-store.js';
import type { KeyScope, Role } from './policy.js';
import type { ApiKeyRow, MembershipRow, UserRow } from './rows.js';
import {
  countOtherOwners,
  deleteMembership,
  findMembership,
  findUserByEmail,
  insertApiKey,
  insertUser,
  listApiKeys as listKeys,
  revokeApiKey as revokeKey,
  upsertMembership,
} from './store.js';

const checks = lazily(() => {
  const { Ajv, addFormats } = loadAjv();
  const ajv = new Ajv({ allErrors: true, formats: stringFormats(() => new Date()) });
  addFormats(ajv, ['email']);
  return {
    isConfiguration: ajv.compile<Partial<WorkspaceConfiguration>>(
      Type.Partial(WorkspaceConfigurationSchema, { $id: 'WorkspaceConfigurationChanges', additionalProperties: false }),
    ),
    isEmail: ajv.compile<string>(Type.String({ format: 'email', maxLength: 254 })),
    isName: ajv.compile<string>(plainName()),
    isPassword: ajv.compile<string>(Type.String({ minLength: 8, maxLength: 1024 })),
  };
});

export interface CreatedUser {
  user: UserRow;
  /** The generated password, which cannot be shown again; null if the caller chose one. */
  password: string | null;
}

export interface CreatedWorkspace extends CreatedUser {
  workspace: WorkspaceRow;
}

export interface CreatedKey {
  row: ApiKeyRow;
  /** The secret key, which cannot be shown again. */
  key: string;
}

/**
 * Creates a user. Generates a password if none is given. Throws invalid_request, and conflict if the address is taken.
 */
export async function createUser(
  db: Db,
  input: { email: string; password?: string | undefined; verified: boolean },
): Promise<CreatedUser> {
  const email = normalEmail(input.email);
  if (input.password !== undefined && !checks().isPassword(input.password)) {
    throw invalidField('password', 'must have from 8 to 1024 characters');
  }
  const password = input.password ?? newPassword();
  const user = await insertUser(db, { email, passwordHash: await hashPassword(password), verified: input.verified });
  if (!user) throw conflict(`The user ${email} exists already`);
  return { user, password: input.password === undefined ? password : null };
}

/**
 * Creates a workspace and makes the user with this e-mail address its owner. If there is no such user, creates a user
 * whose address counts as verified. Throws invalid_request.
 */
export async function createWorkspace(
  trx: Transaction,
  input: { name: string; owner: string; plan?: PlanId | undefined },
): Promise<CreatedWorkspace> {
  if (!checks().isName(input.name)) throw invalidField('name', 'must have from 1 to 100 characters');
  const existing = await findUserByEmail(trx, normalEmail(input.owner));
  const { user, password } = existing
    ? { user: existing, password: null }
    : await createUser(trx, { email: input.owner, verified: true });
  const workspace = await insertWorkspace(trx, { name: input.name.trim(), plan: input.plan ?? 'free' });
  await upsertMembership(trx, { workspaceId: workspace.id, userId: user.id, role: 'owner' });
  return { workspace, user, password };
}

/** Changes some workspace settings. Throws not_found, and invalid_request that names each invalid field. */
export async function configureWorkspace(trx: Transaction, id: string, changes: unknown): Promise<WorkspaceRow> {
  const { isConfiguration } = checks();
  if (!isConfiguration(changes)) {
    const details = (isConfiguration.errors ?? []).map(toDetail);
    const summary = details.map(({ path, message }) => `${path.slice(1) || 'configuration'} ${message}`).join('; ');
    throw new AppError('invalid_request', `The configuration is invalid: ${summary}`, details);
  }
  await lockWorkspaceOrThrow(trx, id);
  return updateWorkspaceConfiguration(trx, id, changes);
}

/** Assigns another plan to the workspace. Existing resources that exceed the new plan are kept. Throws not_found. */
export async function changePlan(trx: Transaction, id: string, plan: PlanId): Promise<WorkspaceRow> {
  await lockWorkspaceOrThrow(trx, id);
  return updateWorkspacePlan(trx, id, plan);
}

/** Adds a user to a workspace, or changes a member's role. Throws not_found, and the errors of `setRole`. */
export async function addMember(
  trx: Transaction,
  input: { workspaceId: string; email: string; role: Role },
): Promise<MembershipRow> {
  await lockWorkspaceOrThrow(trx, input.workspaceId);
  return setRole(trx, input.workspaceId, await userOf(trx, input.email), input.role);
}

/** Removes a member as `dropMember` does. Throws not_found, and the errors of `dropMember`. */
export async function removeMember(trx: Transaction, input: { workspaceId: string; email: string }): Promise<void> {
  await lockWorkspaceOrThrow(trx, input.workspaceId);
  await dropMember(trx, input.workspaceId, await memberOf(trx, input));
}

type Member = Pick<UserRow, 'id' | 'email'>;

/**
 * Gives a user a role, and invalidates the invitations that the user sent. The workspace must be locked. Throws
 * conflict if the workspace would have no owner.
 */
export async function setRole(trx: Transaction, workspaceId: string, user: Member, role: Role): Promise<MembershipRow> {
  if (role !== 'owner') await assertNotLastOwner(trx, workspaceId, user);
  await endInvitationsBy(trx, workspaceId, user.email);
  return upsertMembership(trx, { workspaceId, userId: user.id, role });
}

/**
 * Removes a member, and invalidates the invitations by and to the member. Requests with a key of the member get 403 or
 * 404 from then on. The keys are revoked if the user becomes a member again (specification, Authentication 2 and 5).
 * The workspace must be locked. Throws conflict if the workspace would have no owner.
 */
export async function dropMember(trx: Transaction, workspaceId: string, user: Member): Promise<void> {
  await assertNotLastOwner(trx, workspaceId, user);
  await endInvitationsBy(trx, workspaceId, user.email);
  // The member may have been added while an invitation to the same address was open.
  await endInvitations(trx, workspaceId, user.email);
  await deleteMembership(trx, workspaceId, user.id);
}

/** Creates an API key for a member. Throws not_found, invalid_request. */
export async function createKey(
  db: Db,
  input: { workspaceId: string; email: string; scope: KeyScope; name: string; expiresAt: Date | null },
): Promise<CreatedKey> {
  if (!checks().isName(input.name)) throw invalidField('name', 'must have from 1 to 100 characters');
  await workspaceOf(db, input.workspaceId);
  const user = await memberOf(db, input);
  const { key, lookup, secretHash } = newApiKey();
  const { workspaceId, scope, expiresAt } = input;
  const name = input.name.trim();
  return {
    key,
    row: await insertApiKey(db, { workspaceId, userId: user.id, name, scope, lookup, secretHash, expiresAt }),
  };
}

/** Returns every API key of the workspace, oldest first. Throws not_found. */
export async function listApiKeys(db: Db, workspaceId: string): Promise<(ApiKeyRow & { email: string })[]> {
  await workspaceOf(db, workspaceId);
  return listKeys(db, workspaceId);
}

/** Revokes an API key permanently. Revoking it again changes nothing. Throws not_found. */
export async function revokeApiKey(db: Db, id: string): Promise<ApiKeyRow> {
  const row = await revokeKey(db, id);
  if (!row) throw new AppError('not_found', `There is no key ${id}`);
  return row;
}

function normalEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (!checks().isEmail(email)) throw invalidField('email', `must be an e-mail address, not "${text}"`);
  return email;
}

async function userOf(db: Db, text: string): Promise<UserRow> {
  const email = normalEmail(text);
  const user = await findUserByEmail(db, email);
  if (!user) throw new AppError('not_found', `There is no user ${email}`);
  return user;
}

async function memberOf(db: Db, input: { workspaceId: string; email: string }): Promise<UserRow> {
  const user = await userOf(db, input.email);
  if (await findMembership(db, input.workspaceId, user.id)) return user;
  throw new AppError('not_found', `${user.email} is not a member of the workspace`);
}

async function assertNotLastOwner(trx: Transaction, workspaceId: string, user: Member): Promise<void> {
  const membership = await findMembership(trx, workspaceId, user.id);
  if (membership?.role !== 'owner' || (await countOtherOwners(trx, workspaceId, user.id)) > 0) return;
  throw conflict(`${user.email} is the last owner of the workspace; make another member owner first`);
}

function toDetail({ instancePath, keyword, params, message }: ErrorObject): ErrorDetail {
  if (keyword === 'additionalProperties') {
    return { path: `/${params.additionalProperty}`, message: 'is not a setting of a workspace' };
  }
  const allowed = keyword === 'enum' ? `: ${params.allowedValues.join(', ')}` : '';
  return { path: instancePath, message: `${message ?? 'is invalid'}${allowed}` };
}
