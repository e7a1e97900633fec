import { type Static, Type } from 'typebox';
import { Nullable, Strict, Uuid } from '../../http/schema.js';
import { WorkspaceSchema } from '../workspaces/schema.js';

const UserSchema = Strict(
  {
    id: Uuid,
    email: Type.String(),
    emailVerified: Type.Boolean(),
    mfaEnabled: Type.Boolean(),
    /** True if the second factor was used in this session, as workspaces with `requireMfa` demand. */
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
/** The token of a one-time link, which is then used up. */
export const LinkBody = Strict({ token: Type.String({ minLength: 1, maxLength: 256 }), otp: Type.Optional(Code) });
/** The token of an invitation, which is then used up, and the password of the new account. */
export const InvitationBody = Strict({
  token: Type.String({ minLength: 1, maxLength: 256 }),
  password: Type.String({ minLength: 8, maxLength: 1024 }),
});
export const CodeBody = Strict({ code: Code });
export const PasswordBody = Strict({ password: Password });

/**
 * For an authenticator application; no other answer contains the secret. `otpauthUri` is the content of the QR code.
 */
export const EnrolmentResponse = Strict({ secret: Type.String(), otpauthUri: Type.String() });
/** The session gets a new cookie, to which this csrfToken belongs. */
export const FactorResponse = Strict({ mfaEnabled: Type.Boolean(), csrfToken: Type.String() });
export const SentResponse = Strict({ sent: Type.Boolean(), reason: Type.String() });
export const TokenBody = Strict({ token: Type.String({ minLength: 1, maxLength: 256 }) });
export const VerifiedResponse = Strict({ emailVerified: Type.Literal(true) });
export const SignedOutResponse = Strict({ signedOut: Type.Literal(true) });
