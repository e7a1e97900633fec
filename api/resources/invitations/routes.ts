import { AppError, errorMessage } from '../../../shared/core/error-registry.js';
import { endInvitation, findInvitation, listInvitations } from '../../../shared/identity/invitation-store.js';
import { findWorkspace } from '../../../shared/workspaces/store.js';
import { deleted, found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse } from '../../http/schema.js';
import { INVITATION_PATH } from '../../pages/console-router.js';
import { CreateMemberBody } from '../members/routes.js';
import { invite, mailInvitation } from './commands.js';
import { InvitationListResponse, InvitationResponse, presentInvitation } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/invitations';

/** Invitations by e-mail to people without an account, who accept an invitation with `POST /api/session/invitation`. */
export const invitationRoutes = [
  defineRoute('GET', COLLECTION, 'invitation.list', {
    summary: 'List invitations',
    description: 'The invitations that can still be accepted, oldest first.',
    response: InvitationListResponse,
    handler: async ({ db, params }) => ({
      invitations: (await listInvitations(db, params.workspaceId)).map(presentInvitation),
    }),
  }),
  defineRoute('POST', COLLECTION, 'invitation.create', {
    summary: 'Invite a person',
    description: 'Invites a person without an account by e-mail. An earlier invitation of the address ends.',
    errors: ['conflict', 'capacity_exceeded'],
    body: CreateMemberBody,
    status: 201,
    response: InvitationResponse,
    keyed: false,
    handler: async ({ deps, trx, params, caller, body }) => {
      if (!deps.config.mail)
        throw new AppError('conflict', 'This installation sends no e-mail; its operator creates users');
      const { id } = await invite(trx, { workspaceId: params.workspaceId, actor: caller, ...body });
      return { pending: id };
    },
    complete: async (id, { db, deps, log }) => {
      const invitation = found(await findInvitation(db, id));
      const workspace = await findWorkspace(db, invitation.workspace_id);
      const page = deps.config.publicUrl + INVITATION_PATH;
      const sent = await mailInvitation(db, deps.mailer, {
        invitation,
        workspaceName: workspace?.name ?? '',
        page,
      }).catch((error: unknown) => {
        log().warn(`an invitation could not be mailed: ${errorMessage(error)}`);
        return false;
      });
      return { invitation: presentInvitation(invitation), sent };
    },
  }),
  defineRoute('DELETE', `${COLLECTION}/:invitationId`, 'invitation.delete', {
    summary: 'Withdraw an invitation',
    description: 'Withdraws an invitation, whose link then becomes invalid.',
    response: DeletedResponse,
    handler: async ({ trx, params }) => deleted(await endInvitation(trx, params.workspaceId, params.invitationId)),
  }),
];
