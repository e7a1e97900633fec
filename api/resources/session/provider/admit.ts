import { insertAuditEntry } from '../../../../shared/audit/store.js';
import { lockUntilCommit, type Transaction } from '../../../../shared/core/database/database-client.js';
import { endInvitationsBy, invitationsOf } from '../../../../shared/identity/invitation-store.js';
import type { Role } from '../../../../shared/identity/policy.js';
import type { UserRow } from '../../../../shared/identity/rows.js';
import { findUserByEmail, insertUser } from '../../../../shared/identity/store.js';
import { lockWorkspace } from '../../../../shared/workspaces/store.js';
import { hasRoomForMember } from '../../members/commands.js';
import { type SignInWorkspace, signInWorkspaces } from '../../sign-in/settings-store.js';
import { admitMember, hasIdentity, insertIdentity, setMemberRole, useIdentity } from './identity-store.js';
import { domainOf, type ProviderPerson, roleOf } from './person.js';
import { SignInFailure } from './sign-in-failure.js';

/**
 * Returns the local user of a person who signed in with the provider. At the first sign-in, links the provider to the
 * user who has the person's verified address. If there is no such user, creates a user if a workspace admits or has
 * invited the person. Updates memberships. Throws SignInFailure.
 */
export async function admit(trx: Transaction, person: ProviderPerson, requestId: string): Promise<UserRow> {
  // Two concurrent first sign-ins of one person must not create two users.
  await lockUntilCommit(trx, `provider ${person.issuer} ${person.subject}`);
  const known = await useIdentity(trx, person);
  const email = person.verifiedEmail?.trim().toLowerCase() ?? null;
  const domain = email === null ? null : domainOf(email);
  const linked = known?.user ?? (email === null ? null : await findUserByEmail(trx, email));
  const workspaces = await signInWorkspaces(trx, { userId: linked?.id ?? null, domain });
  const user = linked ?? (await newUser(trx, email, workspaces));
  const identityId = known?.id ?? (await link(trx, person, user));
  for (const workspace of workspaces) {
    const change = changeOf(workspace, person, domain);
    if (change === null) continue;
    if (!(await apply(trx, user, { workspaceId: workspace.workspaceId, ...change }))) continue;
    await insertAuditEntry(trx, {
      workspace_id: workspace.workspaceId,
      actor: user.email,
      user_id: user.id,
      credential: 'provider',
      credential_id: identityId,
      operation: change.operation,
      path: `/members/${user.id}`,
      target_id: user.id,
      target_name: user.email,
      request_id: requestId,
      details: { role: change.role },
    });
  }
  return user;
}

/** Adds a member or changes a member's role. Returns false if the workspace is full or the membership has changed. */
async function apply(
  trx: Transaction,
  user: UserRow,
  { operation, workspaceId, role }: Change & { workspaceId: string },
) {
  await lockWorkspace(trx, workspaceId);
  const member = { workspaceId, userId: user.id, role };
  if (operation === 'member.create') {
    // A full workspace must not make the sign-in fail, because the person may use other workspaces.
    return (await hasRoomForMember(trx, workspaceId)) && (await admitMember(trx, member));
  }
  if (!(await setMemberRole(trx, member))) return false;
  await endInvitationsBy(trx, workspaceId, user.email);
  return true;
}

interface Change {
  operation: 'member.create' | 'member.update';
  role: Role;
}

/** Returns how a sign-in changes a membership; null if it does not. An owner stays an owner. */
export function changeOf(
  workspace: SignInWorkspace,
  person: Pick<ProviderPerson, 'claims'>,
  domain: string | null,
): Change | null {
  const { memberRole, bySignIn, admittedBefore, allowedDomains, roleClaim } = workspace;
  const role = roleOf(workspace, person);
  if (memberRole === null) {
    const admitted = !admittedBefore && domain !== null && allowedDomains.includes(domain);
    return admitted ? { operation: 'member.create', role } : null;
  }
  const stays = !bySignIn || roleClaim === null || memberRole === 'owner' || memberRole === role;
  return stays ? null : { operation: 'member.update', role };
}

async function newUser(
  trx: Transaction,
  email: string | null,
  workspaces: readonly SignInWorkspace[],
): Promise<UserRow> {
  if (email === null) throw new SignInFailure('email_unverified', 'the provider names no verified e-mail address');
  if (workspaces.length === 0 && (await invitationsOf(trx, email)).length === 0)
    throw new SignInFailure('not_admitted', `no workspace admits the domain ${domainOf(email)}`);
  const user = await insertUser(trx, { email, passwordHash: null, verified: true });
  if (!user) throw new SignInFailure('email_taken', 'the address was taken in this moment');
  return user;
}

async function link(trx: Transaction, person: ProviderPerson, user: UserRow): Promise<string> {
  if (user.email_verified_at === null)
    throw new SignInFailure('email_taken', 'an account has the address and has not verified it');
  // The provider may have reassigned a former person's address to somebody else.
  if (await hasIdentity(trx, user.id, person.issuer))
    throw new SignInFailure('email_taken', 'the account is already linked to another person of the provider');
  return insertIdentity(trx, { issuer: person.issuer, subject: person.subject, userId: user.id });
}
