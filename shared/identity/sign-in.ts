import type { Db, Transaction } from '../core/database/client.js';
import { AppError } from '../core/errors.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { verifyPassword } from '../secrets/password.js';
import { hashToken, newToken } from '../secrets/token.js';
import type { SessionRow, UserRow } from './rows.js';
import { useCode } from './second-factor.js';
import { deleteSession, endSurplusSessions, insertSession, rememberClient } from './session-store.js';
import { findUserByEmail } from './store.js';

export interface SignInInput {
  email: string;
  password: string;
  otp?: string | undefined;
  /** The token of the session that the browser had before; it ends. */
  replaces: string | null;
  /** The client that the user signs in from; it is remembered. */
  client: string;
  /** True if the session is valid for this client only, which is the case without TLS. */
  bound: boolean;
  /**
   * Counts a try at the user's one-time code. Throws rate_limited. The returned function takes the count back after a
   * correct code.
   */
  countCode: (userId: string) => Promise<() => Promise<void>>;
}

export interface SignedIn {
  /** The new session's token, for the cookie; it is stored as a hash only. */
  token: string;
  session: SessionRow;
}

/**
 * Starts a session. An unknown address and a wrong password get the same answer after the same work. Throws
 * unauthenticated; mfa_required if only the one-time code is missing; what countCode throws.
 */
export async function signIn(db: Db, deps: Pick<CommandDeps, 'keyring'>, input: SignInInput): Promise<SignedIn> {
  const user = await findUserByEmail(db, input.email.trim().toLowerCase());
  const proven = await verifyPassword(input.password, user?.password_hash ?? null);
  if (!user || !proven) throw refused();
  const counted = user.totp_confirmed_at && input.otp !== undefined ? await input.countCode(user.id) : null;
  const signedIn = await db.transaction(async (trx) => {
    const secondFactor = await provesSecondFactor(trx, deps, user, input.otp);
    if (input.replaces !== null) await deleteSession(trx, hashToken(input.replaces));
    const { token, hash } = newToken();
    const client = input.bound ? input.client : null;
    const session = await insertSession(trx, { userId: user.id, tokenHash: hash, secondFactor, client });
    await endSurplusSessions(trx, user.id);
    await rememberClient(trx, user.id, input.client);
    return { token, session };
  });
  await counted?.();
  return signedIn;
}

async function provesSecondFactor(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
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
