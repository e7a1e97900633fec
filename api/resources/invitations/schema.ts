import { Type } from 'typebox';
import type { InvitationRow } from '../../../shared/identity/invitation-store.js';
import { ROLES } from '../../../shared/identity/policy.js';
import { present } from '../../http/present.js';
import { oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';

const InvitationSchema = Strict(
  {
    id: Uuid,
    email: Type.String(),
    role: oneOf('Role', ROLES),
    /** The e-mail address of the member who sent the invitation. */
    invitedBy: Type.String(),
    createdAt: Timestamp,
    expiresAt: Timestamp,
  },
  'Invitation',
);
export const presentInvitation = (row: InvitationRow) => present(InvitationSchema, row);

export const InvitationListResponse = Strict({ invitations: Type.Array(InvitationSchema) });
/** `sent` is false if the mail server refused the e-mail. Repeating the request sends it again. */
export const InvitationResponse = Strict({ invitation: InvitationSchema, sent: Type.Boolean() });
export const MemberInvitationResponse = Strict({ invitation: InvitationSchema });

const OwnInvitation = Strict({ ...InvitationSchema.properties, workspaceName: Type.String() }, 'OwnInvitation');
export const OwnInvitationsResponse = Strict({ invitations: Type.Array(OwnInvitation) });
export const AnswerInvitationBody = Strict({ invitationId: Uuid, accept: Type.Boolean() });
