import type { Db, Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, invalidRequest } from '../../../shared/core/error-registry.js';
import type { Mailer } from '../../../shared/core/mail.js';
import {
  countSentInvitations,
  endInvitations,
  findInvitationOfToken,
  type InvitationRow,
  insertInvitation,
  lockInvitation,
  lockInvitationOf,
  setInvitationToken,
} from '../../../shared/identity/invitation-store.js';
import type { Role } from '../../../shared/identity/policy.js';
import type { UserRow } from '../../../shared/identity/rows.js';
import { findMembership, findUserByEmail, insertUser, upsertMembership } from '../../../shared/identity/store.js';
import { hashToken, newToken } from '../../../shared/secrets/random-token.js';
import { assertRoomForMember, assertSetsRole, lockForActor } from '../members/commands.js';

/** Maximum number of invitations per workspace in seven days. Each may send an e-mail to a stranger. */
export const MAX_INVITATIONS = 50;

export interface InviteInput {
  workspaceId: string;
  actor: { userId: string; email: string };
  email: string;
  role: Role;
}

/**
 * Invites a person who has no account. Throws conflict if the address has an account, forbidden if the actor may not
 * grant the role, and capacity_exceeded if the workspace has too many members or invitations.
 */
export async function invite(trx: Transaction, { workspaceId, actor, email: text, role }: InviteInput) {
  assertSetsRole(await lockForActor(trx, { workspaceId, actorId: actor.userId }), role);
  const email = text.trim().toLowerCase();
  if (await findUserByEmail(trx, email))
    throw new AppError('conflict', `${email} is a user of this installation: make them a member instead`);
  return replaceInvitation(trx, { workspaceId, actor, email, role });
}

/**
 * Invites a user of this installation. Throws not_found if there is no such user, conflict if the user is a member,
 * forbidden if the actor may not grant the role, and capacity_exceeded if there are too many members or invitations.
 */
export async function inviteUser(trx: Transaction, { workspaceId, actor, email: text, role }: InviteInput) {
  assertSetsRole(await lockForActor(trx, { workspaceId, actorId: actor.userId }), role);
  const email = text.trim().toLowerCase();
  const user = await findUserByEmail(trx, email);
  if (!user) {
    throw new AppError(
      'not_found',
      `There is no user ${email}; invite them by e-mail, or let the operator of this installation create the user: npm run admin -- user create --email ${email}`,
    );
  }
  if (await findMembership(trx, workspaceId, user.id))
    throw new AppError('conflict', `${email} is a member already; change the role with PATCH`);
  return replaceInvitation(trx, { workspaceId, actor, email, role });
}

async function replaceInvitation(trx: Transaction, { workspaceId, actor, email, role }: InviteInput) {
  await assertRoomForMember(trx, workspaceId);
  if ((await countSentInvitations(trx, workspaceId)) >= MAX_INVITATIONS)
    throw new AppError('capacity_exceeded', `A workspace sends at most ${MAX_INVITATIONS} invitations in seven days`);
  await endInvitations(trx, workspaceId, email);
  // A placeholder for the token's hash. After the commit, `mailInvitation` creates the token that it sends by e-mail.
  const { hash } = newToken();
  return insertInvitation(trx, { workspace_id: workspaceId, email, role, invited_by: actor.email, token_hash: hash });
}

/** Mails the link to an invitation. Returns false if nothing can be sent. Throws the mail server's error. */
export async function mailInvitation(
  db: Db,
  mailer: Mailer,
  { invitation, workspaceName, page }: { invitation: InvitationRow; workspaceName: string; page: string },
): Promise<boolean> {
  const { token, hash } = newToken();
  if (!(await setInvitationToken(db, invitation.id, hash))) return false;
  return mailer.send({
    to: invitation.email,
    subject: 'You are invited to a workspace of Ranvier',
    text: [
      `${invitation.invited_by} invites you to the workspace "${workspaceName.replace(/\s+/g, ' ')}" as ${invitation.role}. Within seven days, open`,
      '',
      `${page}#${token}`,
      '',
      'and choose a password. If you do not know what this is, nothing has to be done.',
      '',
    ].join('\n'),
  });
}

/** Throws invalid_request if there is no valid invitation with this token. */
export async function assertInvited(db: Db, token: string): Promise<void> {
  if (!(await findInvitationOfToken(db, hashToken(token)))) throw notInvited();
}

/**
 * Creates the account of an invited person. The token was sent by e-mail, so the address counts as verified. Throws
 * invalid_request if the token is not valid, capacity_exceeded if the workspace is full, and conflict if the address
 * has an account by now.
 */
export async function acceptInvitation(
  trx: Transaction,
  input: { token: string; passwordHash: string },
): Promise<UserRow> {
  const invitation = await lockInvitation(trx, hashToken(input.token));
  if (!invitation) throw notInvited();
  const { workspace_id: workspaceId, email, role } = invitation;
  await assertRoomForMember(trx, workspaceId);
  const user = await insertUser(trx, { email, passwordHash: input.passwordHash, verified: true });
  if (!user) throw new AppError('conflict', `The user ${email} exists already; sign in to accept the invitation`);
  await upsertMembership(trx, { workspaceId, userId: user.id, role });
  await endInvitations(trx, workspaceId, email);
  return user;
}

/**
 * Accepts or declines an invitation. Throws not_found if the invitation is no longer valid, and capacity_exceeded if
 * the workspace is full.
 */
export async function answerInvitation(
  trx: Transaction,
  { user, invitationId, accept }: { user: { id: string; email: string }; invitationId: string; accept: boolean },
): Promise<void> {
  const invitation = await lockInvitationOf(trx, invitationId, user.email);
  if (!invitation)
    throw new AppError('not_found', 'There is no such invitation; it was withdrawn, used or has expired');
  const { workspace_id: workspaceId, email, role } = invitation;
  if (accept && !(await findMembership(trx, workspaceId, user.id))) {
    await assertRoomForMember(trx, workspaceId);
    await upsertMembership(trx, { workspaceId, userId: user.id, role });
  }
  await endInvitations(trx, workspaceId, email);
}

function notInvited(): AppError {
  return invalidRequest('/token', 'is unknown, used or expired; ask for another invitation');
}
