import { type Static, Type } from 'typebox';
import { ROLES } from '../../../shared/identity/policy.js';
import { oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';

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
export type MemberPresentation = Static<typeof MemberSchema>;

export const MemberResponse = Strict({ member: MemberSchema });
export const MemberListResponse = Strict({ members: Type.Array(MemberSchema) });

export const CreateMemberBody = Strict({
  email: Type.String({ format: 'email', maxLength: 254 }),
  role: oneOf('Role', ROLES),
});
export const UpdateMemberBody = Strict({ role: oneOf('Role', ROLES) });
