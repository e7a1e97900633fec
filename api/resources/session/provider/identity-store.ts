import { v7 as uuidv7 } from 'uuid';
import { oneRow, rowCountOf, type Transaction } from '../../../../shared/core/database/database-client.js';
import { AppError } from '../../../../shared/core/error-registry.js';
import type { Role } from '../../../../shared/identity/policy.js';
import type { UserRow } from '../../../../shared/identity/rows.js';
import { deleteSessions } from '../../../../shared/identity/session-store.js';
import { findUserByEmail, revokeKeysOfMember } from '../../../../shared/identity/store.js';

/** Identifies a person: `subject` is the person's id at the OpenID Connect provider `issuer`. */
export interface Subject {
  issuer: string;
  subject: string;
}

/** Records a sign-in, and returns the user with this identity; null if the identity is new. */
export async function useIdentity(trx: Transaction, of: Subject): Promise<{ id: string; user: UserRow } | null> {
  const identity = await oneRow<{ id: string; user_id: string }>(
    trx,
    `update provider_identities set signed_in_at = now() where issuer = :issuer and subject = :subject
     returning id, user_id`,
    { ...of },
  );
  if (!identity) return null;
  const user = await trx<UserRow>('users').where({ id: identity.user_id }).first();
  return user ? { id: identity.id, user } : null;
}

export async function hasIdentity(trx: Transaction, userId: string, issuer: string): Promise<boolean> {
  const found = await trx('provider_identities').where({ user_id: userId, issuer }).first('id');
  return found !== undefined;
}

export async function insertIdentity(trx: Transaction, of: Subject & { userId: string }): Promise<string> {
  const id = uuidv7();
  await trx('provider_identities').insert({ id, issuer: of.issuer, subject: of.subject, user_id: of.userId });
  return id;
}

interface SignInMember {
  workspaceId: string;
  userId: string;
  role: Role;
}

/** Adds a member, and records that a sign-in did so. Returns false if the user is already a member. */
export async function admitMember(trx: Transaction, member: SignInMember): Promise<boolean> {
  const admitted = await rowCountOf(
    trx,
    `insert into memberships (workspace_id, user_id, role, by_sign_in) values (:workspaceId, :userId, :role, true)
     on conflict do nothing`,
    { ...member },
  );
  if (admitted === 0) return false;
  // The keys of an earlier membership must not become valid again.
  await revokeKeysOfMember(trx, member.workspaceId, member.userId);
  await trx.raw('insert into sign_in_admissions (workspace_id, user_id) values (:workspaceId, :userId)', { ...member });
  return true;
}

/** Sets the role of a member that a sign-in added. Returns false for an owner, or if there is no such member. */
export async function setMemberRole(trx: Transaction, member: SignInMember): Promise<boolean> {
  const changed = await rowCountOf(
    trx,
    `update memberships set role = :role
      where workspace_id = :workspaceId and user_id = :userId and by_sign_in and role <> 'owner'`,
    { ...member },
  );
  return changed > 0;
}

/** Unlinks a user from the provider and ends the user's sessions. Returns the number of links. Throws not_found. */
export async function forgetProvider(trx: Transaction, email: string): Promise<number> {
  const user = await findUserByEmail(trx, email.trim().toLowerCase());
  if (!user) throw new AppError('not_found', `There is no user ${email}`);
  await deleteSessions(trx, user.id);
  return trx('provider_identities').where({ user_id: user.id }).delete();
}
