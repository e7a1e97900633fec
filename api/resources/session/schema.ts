import { type Static, Type } from '@sinclair/typebox';
import { Nullable, Strict, Uuid } from '../../schema.js';
import { WorkspaceSchema } from '../workspaces/schema.js';

export const UserSchema = Strict(
  {
    id: Uuid,
    email: Type.String(),
    emailVerified: Type.Boolean(),
    /** A second factor is enrolled and confirmed. */
    mfaEnabled: Type.Boolean(),
    /** It was proved in this session, which is what a workspace's requireMfa asks for. */
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

const Code = Type.String({ pattern: '^[0-9]{6}$' });

export const SignInBody = Strict({
  email: Type.String({ maxLength: 254 }),
  password: Type.String({ maxLength: 1024 }),
  otp: Type.Optional(Code),
});
export const CodeBody = Strict({ code: Code });

/** The secret is shown once, for an authenticator; `otpauthUri` is what a QR code holds. */
export const EnrolmentResponse = Strict({ secret: Type.String(), otpauthUri: Type.String() });
/** The session goes on under a new cookie, to which this csrfToken belongs. */
export const FactorResponse = Strict({ mfaEnabled: Type.Boolean(), csrfToken: Type.String() });
export const SentResponse = Strict({ sent: Type.Boolean(), reason: Type.String() });
export const TokenBody = Strict({ token: Type.String({ minLength: 1, maxLength: 256 }) });
export const VerifiedResponse = Strict({ emailVerified: Type.Literal(true) });
export const SignedOutResponse = Strict({ signedOut: Type.Literal(true) });
