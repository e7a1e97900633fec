import type { Db, Transaction } from '../db/client.js';
import { findUserByEmail } from '../db/identity.js';
import type { SessionRow, UserRow } from '../db/rows.js';
import { deleteSession, insertSession } from '../db/sessions.js';
import { AppError } from '../errors.js';
import { verifyPassword } from '../secrets/password.js';
import { hashToken, newToken } from '../secrets/token.js';
import type { CommandDeps } from './deps.js';
import { takeCode } from './second-factor.js';

export interface SignInInput {
  email: string;
  password: string;
  otp?: string | undefined;
  /** The token of the session that the browser had before; it ends. */
  replaces: string | null;
}

export interface SignedIn {
  /** The new session's token, for the cookie; it is stored as a hash only. */
  token: string;
  session: SessionRow;
}

/**
 * Begins a session. An unknown address and a wrong password get the same answer after the same work. Throws
 * unauthenticated; mfa_required where only the one-time code is missing.
 */
export async function signIn(db: Db, deps: Pick<CommandDeps, 'keyring'>, input: SignInInput): Promise<SignedIn> {
  const user = await findUserByEmail(db, input.email.trim().toLowerCase());
  const proven = await verifyPassword(input.password, user?.password_hash ?? null);
  if (!user || !proven) throw refused();
  return db.transaction(async (trx) => {
    const secondFactor = await provesSecondFactor(trx, deps, user, input.otp);
    if (input.replaces !== null) await deleteSession(trx, hashToken(input.replaces));
    const { token, hash } = newToken();
    return { token, session: await insertSession(trx, { userId: user.id, tokenHash: hash, secondFactor }) };
  });
}

async function provesSecondFactor(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
  user: UserRow,
  otp: string | undefined,
): Promise<boolean> {
  if (!user.totp_confirmed_at) return false;
  if (otp === undefined) throw new AppError('mfa_required', 'Send the one-time code of the authenticator as otp');
  if (!(await takeCode(trx, deps, user, otp))) throw refused();
  return true;
}

function refused(): AppError {
  return new AppError('unauthenticated', 'The e-mail address, the password or the one-time code is wrong');
}
