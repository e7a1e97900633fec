import type { Db, Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { verifyPassword } from '../secrets/password.js';
import { hashToken, newToken } from '../secrets/random-token.js';
import type { SessionRow, UserRow } from './rows.js';
import { useCode } from './second-factor.js';
import { lockUser } from './second-factor-store.js';
import { deleteSession, endSurplusSessions, insertSession, rememberClient } from './session-store.js';
import { deleteSignInLink, findSignInLink, insertSignInLink, lockSignInLink } from './sign-in-link-store.js';
import { findUserByEmail } from './store.js';

type Deps = Pick<CommandDeps, 'keyring'>;

/** Input of a sign-in besides the proof of the user's identity. */
export interface SignInInput {
  otp?: string | undefined;
  /** The token of the browser's previous session, which ends. */
  replaces: string | null;
  /** The client from which the user signs in; it is remembered. */
  client: string;
  /** True if the session is valid for this client only, which is so without TLS. */
  bound: boolean;
  /**
   * Counts a try of the user's one-time code. Throws rate_limited. After a correct code, the returned function removes
   * the count.
   */
  countCode: (userId: string) => Promise<() => Promise<void>>;
}

export interface SignedIn {
  /** The new session's token, for the cookie. Only its hash is stored. */
  token: string;
  session: SessionRow;
}

/**
 * Starts a session. `verify` compares the password.
 * An unknown address and a wrong password get the same answer after the same work. Throws unauthenticated; mfa_required
 * if only the one-time code is missing; what countCode and verify throw.
 */
export async function signIn(
  db: Db,
  deps: Deps,
  {
    verify = verifyPassword,
    ...input
  }: SignInInput & { email: string; password: string; verify?: typeof verifyPassword },
): Promise<SignedIn> {
  const user = await findUserByEmail(db, input.email.trim().toLowerCase());
  const proven = await verify(input.password, user?.password_hash ?? null);
  if (!user || !proven) throw refused();
  const counted = input.otp === undefined ? null : await input.countCode(user.id);
  const signedIn = await beginSession(db, deps, user, input);
  await counted?.();
  return signedIn;
}

/** Starts a session for a user who has just proven their identity. Throws as signIn. */
export function beginSession(db: Db, deps: Deps, user: UserRow, input: SignInInput): Promise<SignedIn> {
  return db.transaction((trx) => startSession(trx, deps, user, input));
}

/**
 * Creates a link's token, which signs the user in once within 15 minutes. The second factor is still needed. Throws
 * not_found.
 */
export async function createSignInLink(db: Db, email: string): Promise<string> {
  const user = await findUserByEmail(db, email);
  if (!user) throw new AppError('not_found', `There is no user ${email}`);
  const { token, hash } = newToken();
  await insertSignInLink(db, { userId: user.id, tokenHash: hash });
  return token;
}

/**
 * Starts a session with a one-time link and deletes the link. A wrong one-time code leaves the link valid.
 * Throws unauthenticated; mfa_required if only the one-time code is missing; what countCode throws.
 */
export async function signInWithLink(db: Db, deps: Deps, input: SignInInput & { token: string }): Promise<SignedIn> {
  const tokenHash = hashToken(input.token);
  // Counted before the transaction, because counting uses another connection to the database.
  const guesser = input.otp === undefined ? undefined : await findSignInLink(db, tokenHash);
  const counted = guesser && (await input.countCode(guesser.id));
  const signedIn = await db.transaction(async (trx) => {
    const user = await lockSignInLink(trx, tokenHash);
    if (!user)
      throw new AppError('unauthenticated', 'The link is unknown, was used or has expired; sign in with the password');
    const started = await startSession(trx, deps, user, input);
    await deleteSignInLink(trx, tokenHash);
    return started;
  });
  await counted?.();
  return signedIn;
}

/**
 * Starts a session under the lock that changes of password and second factor also take. A session that begins before
 * such a change ends with it; one that begins afterwards needs the new proof. `proven` is the user's row as it was when
 * the proof was checked.
 */
async function startSession(trx: Transaction, deps: Deps, proven: UserRow, input: SignInInput): Promise<SignedIn> {
  const user = await lockUser(trx, proven.id);
  if (user?.password_hash !== proven.password_hash) throw refused();
  const secondFactor = await provesSecondFactor(trx, deps, user, input.otp);
  if (input.replaces !== null) await deleteSession(trx, hashToken(input.replaces));
  const { token, hash } = newToken();
  const client = input.bound ? input.client : null;
  const session = await insertSession(trx, { userId: user.id, tokenHash: hash, secondFactor, client });
  await endSurplusSessions(trx, user.id);
  await rememberClient(trx, user.id, input.client);
  return { token, session };
}

async function provesSecondFactor(
  trx: Transaction,
  deps: Deps,
  user: UserRow,
  otp: string | undefined,
): Promise<boolean> {
  if (!user.totp_confirmed_at) return false;
  if (otp === undefined) throw new AppError('mfa_required', 'Send the one-time code of the authenticator as otp');
  if (!(await useCode(trx, deps, user, otp))) throw refused();
  return true;
}

function refused(): AppError {
  return new AppError('unauthenticated', 'The e-mail address, the password or the one-time code is wrong');
}
