import { invitationsOf } from '../../../shared/identity/invitation-store.js';
import type { ApiDeps, Caller } from '../../http/api-deps.js';
import { defineRoute } from '../../http/route.js';
import { answerInvitation } from '../invitations/commands.js';
import { AnswerInvitationBody, OwnInvitationsResponse, presentInvitation } from '../invitations/schema.js';

/** Invitations of the signed-in user, who becomes a member only by accepting one. */
export const ownInvitationRoutes = [
  defineRoute('GET', '/session/invitations', 'session.listInvitations', {
    access: 'session',
    summary: 'List own invitations',
    description: 'The invitations of the signed-in user that can still be accepted, oldest first.',
    response: OwnInvitationsResponse,
    handler: ({ deps, caller }) => openOf(deps, caller),
  }),
  defineRoute('POST', '/session/invitations', 'session.answerInvitation', {
    access: 'session',
    summary: 'Answer an invitation',
    description: 'Accepts or declines an invitation, and answers with those that are left.',
    errors: ['not_found', 'capacity_exceeded'],
    body: AnswerInvitationBody,
    response: OwnInvitationsResponse,
    handler: async ({ deps, caller, body }) => {
      const user = { id: caller.userId, email: caller.email };
      await deps.db.transaction((trx) => answerInvitation(trx, { user, ...body }));
      return openOf(deps, caller);
    },
  }),
];

async function openOf({ db }: ApiDeps, { email }: Caller) {
  const rows = await invitationsOf(db, email);
  return { invitations: rows.map((row) => ({ ...presentInvitation(row), workspaceName: row.workspace_name })) };
}
