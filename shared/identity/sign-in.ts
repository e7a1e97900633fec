import type { Db, Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { verifyPassword } from '../secrets/password.js';
import { hashToken, newToken } from '../secrets/random-token.js';
import type { SessionRow, UserRow } from './rows.js';
import { useCode } from './second-factor.js';
import { lockUser, type SecondFactors, secondFactorsOf } from './second-factor-store.js';
import { deleteSession, endSurplusSessions, insertSession, rememberClient } from './session-store.js';
import {
  deleteSignInLink,
  findSignInLink,
  insertSignInLink,
  lockSignInLink,
  moveProviderSignIn,
} from './sign-in-link-store.js';
import { findUserByEmail } from './store.js';

type Deps = Pick<CommandDeps, 'keyring'>;

const MAX_USER_AGENT = 300;

export interface SignInInput {
  otp?: string | undefined;
  /** Checks a passkey in place of the one-time code. Throws unauthenticated. */
  usePasskey?: ((trx: Transaction, userId: string) => Promise<void>) | undefined;
  replaces: string | null;
  /** The client from which the user signs in, usually an IP address. */
  client: string;
  userAgent?: string;
  /** True if the request came without TLS. Then only `client` may use the session. */
  bound: boolean;
  /** Counts an attempt to enter a one-time code. The returned function resets the count. Throws rate_limited. */
  countCode: (userId: string) => Promise<() => Promise<void>>;
}

interface PasswordProof {
  email: string;
  password: string;
  verify?: typeof verifyPassword;
}

export interface Proof {
  byPassword: boolean;
  /** True if the OpenID Connect provider required a second factor. Counts only for users without an authenticator. */
  secondFactor?: boolean;
  byPasskey?: boolean;
}

export interface SignedIn {
  token: string;
  session: SessionRow;
}

/**
 * Returns the user with this address and password. An unknown address and a wrong password give the same error after
 * the same work. Throws unauthenticated, and errors of `verify`.
 */
export async function provenUser(
  db: Db,
  { email, password, verify = verifyPassword }: PasswordProof,
): Promise<UserRow> {
  const user = await findUserByEmail(db, email.trim().toLowerCase());
  const proven = await verify(password, user?.password_hash ?? null);
  if (!user || !proven) throw refused();
  return user;
}

/**
 * Starts a session with a password. Throws unauthenticated, mfa_required if only the second factor is missing, and
 * errors of `countCode` and `verify`.
 */
export async function signIn(db: Db, deps: Deps, input: SignInInput & PasswordProof): Promise<SignedIn> {
  const user = await provenUser(db, input);
  const counted = input.otp === undefined ? null : await input.countCode(user.id);
  const signedIn = await beginSession(db, deps, user, { ...input, byPassword: true });
  await counted?.();
  return signedIn;
}

/** Starts a session for a user who has just proven their identity. Throws unauthenticated or mfa_required. */
export function beginSession(db: Db, deps: Deps, user: UserRow, input: SignInInput & Proof): Promise<SignedIn> {
  return db.transaction((trx) => startSession(trx, deps, user, input));
}

/** Creates the token of a link that signs the user in once within 15 minutes. Throws not_found. */
export async function createSignInLink(db: Db, email: string): Promise<string> {
  const user = await findUserByEmail(db, email);
  if (!user) throw new AppError('not_found', `There is no user ${email}`);
  const { token, hash } = newToken();
  await insertSignInLink(db, { userId: user.id, tokenHash: hash });
  return token;
}

/**
 * Starts a session with a one-time link and deletes the link. A wrong one-time code leaves the link valid. Throws
 * unauthenticated, mfa_required if only the one-time code is missing, and errors of `countCode`.
 */
export async function signInWithLink(db: Db, deps: Deps, input: SignInInput & { token: string }): Promise<SignedIn> {
  const tokenHash = hashToken(input.token);
  // The attempt is counted before the transaction, because counting uses another database connection.
  const guesser = input.otp === undefined ? undefined : await findSignInLink(db, tokenHash);
  const counted = guesser && (await input.countCode(guesser.id));
  const signedIn = await db.transaction(async (trx) => {
    const user = await lockSignInLink(trx, tokenHash);
    if (!user)
      throw new AppError('unauthenticated', 'The link is unknown, was used or has expired; sign in with the password');
    const started = await startSession(trx, deps, user, { ...input, byPassword: false });
    await moveProviderSignIn(trx, { tokenHash, sessionId: started.session.id });
    await deleteSignInLink(trx, tokenHash);
    return started;
  });
  await counted?.();
  return signedIn;
}

/**
 * Locks the user's row, as a change of the password or second factor does. A concurrent change therefore either
 * prevents this session or ends it. `proven` is the row that was read when the user proved their identity.
 */
async function startSession(
  trx: Transaction,
  deps: Deps,
  proven: UserRow,
  input: SignInInput & Proof,
): Promise<SignedIn> {
  const user = await lockUser(trx, proven.id);
  if (user?.password_hash !== proven.password_hash) throw refused();
  const secondFactor = await provesSecondFactor(trx, deps, user, input);
  if (input.replaces !== null) await deleteSession(trx, hashToken(input.replaces));
  const { token, hash } = newToken();
  const client = input.bound ? input.client : null;
  const { byPassword, client: origin } = input;
  const userAgent = (input.userAgent ?? '').slice(0, MAX_USER_AGENT);
  const session = await insertSession(trx, {
    ...{ userId: user.id, tokenHash: hash, secondFactor, client, byPassword, origin, userAgent },
  });
  await endSurplusSessions(trx, user.id);
  await rememberClient(trx, user.id, input.client);
  return { token, session };
}

async function provesSecondFactor(
  trx: Transaction,
  deps: Deps,
  user: UserRow,
  { otp, usePasskey, secondFactor = false, byPasskey = false }: SignInInput & Proof,
): Promise<boolean> {
  if (byPasskey || (secondFactor && !user.totp_confirmed_at)) return true;
  if (usePasskey) {
    await usePasskey(trx, user.id);
    return true;
  }
  if (otp !== undefined && user.totp_confirmed_at) {
    if (!(await useCode(trx, deps, user, otp))) throw refused();
    return true;
  }
  const has = await secondFactorsOf(trx, user.id);
  if (has.asked) throw missingFactor(has);
  return false;
}

function missingFactor({ totp, passkey }: SecondFactors): AppError {
  const message = totp
    ? `Send the one-time code of the authenticator as otp${passkey ? ', or a passkey' : ''}`
    : 'Sign in with a passkey of this account, in a browser; rnv login --key takes a key that you make there';
  return new AppError('mfa_required', message, [
    ...(totp ? [{ path: '/otp', message: 'is missing' }] : []),
    ...(passkey ? [{ path: '/passkey', message: totp ? 'is accepted in its place' : 'is missing' }] : []),
  ]);
}

function refused(): AppError {
  return new AppError('unauthenticated', 'The e-mail address, the password or the one-time code is wrong');
}
