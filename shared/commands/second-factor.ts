import type { Transaction } from '../db/client.js';
import { findUserByEmail } from '../db/identity.js';
import type { SessionRow, UserRow } from '../db/rows.js';
import { clearTotp, confirmTotp, lockUser, setUnconfirmedTotp, takeTotpCounter } from '../db/second-factor.js';
import { deleteOtherSessions, deleteSessions, rotateSession } from '../db/sessions.js';
import { AppError, invalidRequest } from '../errors.js';
import { newToken } from '../secrets/token.js';
import { newTotpSecret, totpCounter, totpUri } from '../secrets/totp.js';
import type { CommandDeps } from './deps.js';

type Deps = Pick<CommandDeps, 'keyring'>;

/** The session that asks; it goes on under another token, because what it may do has changed. */
export interface SessionOf {
  userId: string;
  sessionId: string;
}

export interface Rotated {
  token: string;
  session: SessionRow;
}

/** Makes a secret for the user's authenticator; it counts once it is confirmed. Throws conflict where one counts already. */
export async function enrolSecondFactor(
  trx: Transaction,
  { keyring }: Deps,
  userId: string,
): Promise<{ secret: string; uri: string }> {
  const user = await userOf(trx, userId);
  if (user.totp_confirmed_at) throw new AppError('conflict', 'A second factor is enrolled already; remove it first');
  const secret = newTotpSecret();
  await setUnconfirmedTotp(trx, userId, keyring.seal(secret, context(userId)));
  return { secret, uri: totpUri(secret, user.email) };
}

/** The authenticator works: from now on signing in needs it, and sessions that began without it end. Throws conflict, invalid_request. */
export async function confirmSecondFactor(
  trx: Transaction,
  deps: Deps,
  { userId, sessionId, code }: SessionOf & { code: string },
): Promise<Rotated> {
  const user = await userOf(trx, userId);
  if (!user.totp_sealed || user.totp_confirmed_at) throw new AppError('conflict', 'There is no enrolment to confirm');
  await assertCode(trx, deps, user, code);
  await confirmTotp(trx, userId);
  return rotate(trx, { userId, sessionId }, true);
}

/** Takes the second factor away. Throws conflict where there is none, invalid_request for a code that is not good. */
export async function removeSecondFactor(
  trx: Transaction,
  deps: Deps,
  { userId, sessionId, code }: SessionOf & { code: string },
): Promise<Rotated> {
  const user = await userOf(trx, userId);
  if (!user.totp_confirmed_at) throw new AppError('conflict', 'No second factor is enrolled');
  await assertCode(trx, deps, user, code);
  await clearTotp(trx, userId);
  return rotate(trx, { userId, sessionId }, false);
}

/**
 * For whoever lost the authenticator, by an operator: the password alone signs in until another one is enrolled. The user's
 * sessions end, and where a workspace requires MFA the user's keys only read until then. Throws not_found, conflict where
 * there is none.
 */
export async function resetSecondFactor(trx: Transaction, text: string): Promise<UserRow> {
  const email = text.trim().toLowerCase();
  const found = await findUserByEmail(trx, email);
  const user = found && (await lockUser(trx, found.id));
  if (!user) throw new AppError('not_found', `There is no user ${email}`);
  if (!user.totp_sealed) throw new AppError('conflict', `${email} has no second factor`);
  await clearTotp(trx, user.id);
  await deleteSessions(trx, user.id);
  return user;
}

/** True where the code is the user's authenticator's of now and was never used; it is used up then. */
export async function takeCode(
  trx: Transaction,
  { keyring }: Deps,
  user: Pick<UserRow, 'id' | 'totp_sealed'>,
  code: string,
): Promise<boolean> {
  if (!user.totp_sealed) return false;
  const counter = totpCounter(keyring.open(user.totp_sealed, context(user.id)), code, new Date());
  return counter !== null && takeTotpCounter(trx, user.id, counter);
}

async function assertCode(trx: Transaction, deps: Deps, user: UserRow, code: string): Promise<void> {
  if (await takeCode(trx, deps, user, code)) return;
  throw invalidRequest('/code', 'is not the current code of the authenticator, or was used before');
}

async function rotate(trx: Transaction, { userId, sessionId }: SessionOf, secondFactor: boolean): Promise<Rotated> {
  await deleteOtherSessions(trx, userId, sessionId);
  const { token, hash } = newToken();
  const session = await rotateSession(trx, sessionId, { tokenHash: hash, secondFactor });
  if (!session) throw new AppError('unauthenticated');
  return { token, session };
}

async function userOf(trx: Transaction, userId: string): Promise<UserRow> {
  const user = await lockUser(trx, userId);
  if (!user) throw new AppError('unauthenticated');
  return user;
}

function context(userId: string): string {
  return `user-totp:${userId}`;
}
