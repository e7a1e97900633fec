import { type Static, Type } from 'typebox';
import { BACKUP_CODE_PATTERN } from '../../../shared/identity/backup-codes.js';
import { Nullable, Strict, Uuid } from '../../http/schema.js';
import { WorkspaceSchema } from '../workspaces/schema.js';
import { PasskeyProof } from './passkeys/schema.js';

export const UserSchema = Strict(
  {
    id: Uuid,
    email: Type.String(),
    emailVerified: Type.Boolean(),
    /** False for a user who signs in only with the OpenID Connect provider. */
    hasPassword: Type.Boolean(),
    mfaEnabled: Type.Boolean(),
    /** True if the second factor was used in this session, which workspaces with `requireMfa` require. */
    mfaVerified: Type.Boolean(),
  },
  'User',
);

export const BootstrapResponse = Strict({
  csrfToken: Type.String(),
  user: Nullable(UserSchema),
  workspaces: Type.Array(WorkspaceSchema),
  /** Workspaces of the user that refuse this session, because it was started with a password. */
  closedWorkspaces: Type.Array(Strict({ id: Uuid, name: Type.String() })),
  /** The OpenID Connect provider. To sign in, a browser navigates to `url`, optionally with `?returnTo=<path>`. */
  provider: Nullable(Strict({ name: Type.String(), url: Type.String() })),
});
export type BootstrapPresentation = Static<typeof BootstrapResponse>;

const Password = Type.String({ maxLength: 1024 });
const Code = Type.String({
  maxLength: 11,
  pattern: `^([0-9]{6}|${BACKUP_CODE_PATTERN})$`,
  description: 'a code of six digits, or a backup code',
});

const Token = Type.String({ minLength: 1, maxLength: 256 });
/** The second factor of a sign-in, for users who have one: either a code or a passkey. */
const SecondFactor = { otp: Type.Optional(Code), passkey: Type.Optional(PasskeyProof) };

export const SignInBody = Strict({
  email: Type.String({ maxLength: 254 }),
  password: Password,
  ...SecondFactor,
});
export const LinkBody = Strict({ token: Token, ...SecondFactor });
/** The password or link of a sign-in whose second step is a passkey. Empty if a passkey is the only step. */
export const PasskeyOptionsBody = Strict({
  email: Type.Optional(Type.String({ maxLength: 254 })),
  password: Type.Optional(Password),
  token: Type.Optional(Token),
});
export const InvitationBody = Strict({
  token: Token,
  password: Type.String({ minLength: 8, maxLength: 1024 }),
});
export const CodeBody = Strict({ code: Code });
/** A user without a password may omit `password` for ten minutes after signing in. */
export const EnrolBody = Strict({ password: Type.Optional(Password) });

/** The secret of a new authenticator, which no other response contains. `otpauthUri` is the text of the QR code. */
export const EnrolmentResponse = Strict({ secret: Type.String(), otpauthUri: Type.String() });
/** Changing the second factor replaces the session's cookie. `csrfToken` belongs to the new cookie. */
export const FactorResponse = Strict({ mfaEnabled: Type.Boolean(), csrfToken: Type.String() });
/** Codes that can each be used once instead of a code from the authenticator. No other response contains them. */
export const BackupCodesResponse = Strict({ codes: Type.Array(Type.String()) });
export const FactorStateResponse = Strict({
  mfaEnabled: Type.Boolean(),
  backupCodes: Type.Integer({ description: 'How many backup codes are left' }),
});
export const SentResponse = Strict({ sent: Type.Boolean(), reason: Type.String() });
export const TokenBody = Strict({ token: Token });
export const VerifiedResponse = Strict({ emailVerified: Type.Literal(true) });
/** `providerUrl` is the provider's page that signs the person out there too; null for a session without a provider. */
export const SignedOutResponse = Strict({ signedOut: Type.Literal(true), providerUrl: Nullable(Type.String()) });
