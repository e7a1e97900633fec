import { type Static, Type } from 'typebox';
import { Nullable, Strict, Uuid } from '../../http/schema.js';
import { WorkspaceSchema } from '../workspaces/schema.js';

const UserSchema = Strict(
  {
    id: Uuid,
    email: Type.String(),
    emailVerified: Type.Boolean(),
    /** True if the user has a confirmed second factor. */
    mfaEnabled: Type.Boolean(),
    /** True if it was verified in this session, as a workspace with requireMfa demands. */
    mfaVerified: Type.Boolean(),
  },
  'User',
);
export type UserPresentation = Static<typeof UserSchema>;

export const BootstrapResponse = Strict({
  csrfToken: Type.String(),
  user: Nullable(UserSchema),
  workspaces: Type.Array(WorkspaceSchema),
});
export type BootstrapPresentation = Static<typeof BootstrapResponse>;

const Password = Type.String({ maxLength: 1024 });
const Code = Type.String({ maxLength: 6, pattern: '^[0-9]{6}$', description: 'a code of six digits' });

export const SignInBody = Strict({
  email: Type.String({ maxLength: 254 }),
  password: Password,
  otp: Type.Optional(Code),
});
/** The token of a one-time link. It becomes invalid. */
export const LinkBody = Strict({ token: Type.String({ minLength: 1, maxLength: 256 }), otp: Type.Optional(Code) });
/** The token of an invitation, which becomes invalid, and the password of the new account. */
export const InvitationBody = Strict({
  token: Type.String({ minLength: 1, maxLength: 256 }),
  password: Type.String({ minLength: 8, maxLength: 1024 }),
});
export const CodeBody = Strict({ code: Code });
export const PasswordBody = Strict({ password: Password });

/** The secret is shown once, for an authenticator. `otpauthUri` is the content of a QR code. */
export const EnrolmentResponse = Strict({ secret: Type.String(), otpauthUri: Type.String() });
/** The session continues with a new cookie; this csrfToken belongs to it. */
export const FactorResponse = Strict({ mfaEnabled: Type.Boolean(), csrfToken: Type.String() });
export const SentResponse = Strict({ sent: Type.Boolean(), reason: Type.String() });
export const TokenBody = Strict({ token: Type.String({ minLength: 1, maxLength: 256 }) });
export const VerifiedResponse = Strict({ emailVerified: Type.Literal(true) });
export const SignedOutResponse = Strict({ signedOut: Type.Literal(true) });
