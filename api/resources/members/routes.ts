import { defineRoute } from '../../http/route.js';
import { DeletedResponse } from '../../http/schema.js';
import { inviteUser } from '../invitations/commands.js';
import { presentInvitation } from '../invitations/present.js';
import { MemberInvitationResponse } from '../invitations/schema.js';
import { changeMember, endMembership } from './commands.js';
import { presentMember } from './present.js';
import { CreateMemberBody, MemberListResponse, MemberResponse, UpdateMemberBody } from './schema.js';
import { listMembers } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/members';
const ONE = '/workspaces/:workspaceId/members/:memberId';

export const memberRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'member.list',
    summary: 'List members',
    description: 'The members of the workspace, in the order in which they joined.',
    response: MemberListResponse,
    handler: async ({ db, params }) => ({ members: (await listMembers(db, params.workspaceId)).map(presentMember) }),
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'member.create',
    summary: 'Invite a user',
    description: 'Invites a user of the installation, who accepts in a session of their own.',
    errors: ['conflict', 'capacity_exceeded'],
    body: CreateMemberBody,
    status: 201,
    response: MemberInvitationResponse,
    handler: async ({ trx, params, caller, body }) => {
      const invitation = await inviteUser(trx, { workspaceId: params.workspaceId, actor: caller, ...body });
      return { invitation: presentInvitation(invitation) };
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: ONE,
    operation: 'member.update',
    summary: 'Change a role',
    description:
      'Changes the role of a member. The last owner stays an owner, and only an owner can make another member an owner.',
    errors: ['conflict'],
    body: UpdateMemberBody,
    response: MemberResponse,
    handler: async ({ trx, params, caller, body }) => {
      const { workspaceId, memberId: userId } = params;
      const member = await changeMember(trx, { workspaceId, actorId: caller.userId, userId, role: body.role });
      return { member: presentMember(member) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'member.delete',
    summary: 'Remove a member',
    description: "Ends the membership, and revokes the member's API keys for the workspace.",
    errors: ['conflict'],
    response: DeletedResponse,
    handler: async ({ trx, params, caller }) => {
      const { workspaceId, memberId: userId } = params;
      await endMembership(trx, { workspaceId, actorId: caller.userId, userId });
      return { deleted: true } as const;
    },
  }),
];
