import { Type } from 'typebox';
import { ROLES } from '../../../shared/identity/policy.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { inviteUser } from '../invitations/commands.js';
import { MemberInvitationResponse, presentInvitation } from '../invitations/schema.js';
import { changeMember, endMembership, listMembers, type MemberView } from './commands.js';

const MemberSchema = Strict(
  {
    id: Uuid,
    email: Type.String(),
    role: oneOf('Role', ROLES),
    emailVerified: Type.Boolean(),
    mfaEnabled: Type.Boolean(),
    createdAt: Timestamp,
  },
  'Member',
);

function presentMember(row: MemberView) {
  return present(MemberSchema, row, { id: row.user_id, mfaEnabled: row.second_factor });
}

const MemberResponse = Strict({ member: MemberSchema });
const MemberListResponse = Strict({ members: Type.Array(MemberSchema) });

export const CreateMemberBody = Strict({
  email: Type.String({ format: 'email', maxLength: 254 }),
  role: oneOf('Role', ROLES),
});
const UpdateMemberBody = Strict({ role: oneOf('Role', ROLES) });

const COLLECTION = '/workspaces/:workspaceId/members';
const ONE = '/workspaces/:workspaceId/members/:memberId';

export const memberRoutes = [
  defineRoute('GET', COLLECTION, 'member.list', {
    summary: 'List members',
    description: 'The members of the workspace, in the order in which they joined.',
    response: MemberListResponse,
    handler: async ({ db, params }) => ({ members: (await listMembers(db, params.workspaceId)).map(presentMember) }),
  }),
  defineRoute('POST', COLLECTION, 'member.create', {
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
  defineRoute('PATCH', ONE, 'member.update', {
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
  defineRoute('DELETE', ONE, 'member.delete', {
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
