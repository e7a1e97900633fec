import type { Db, Transaction } from '../core/database/database-client.js';
import { AppError, conflict, invalidRequest } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { verifyPassword } from '../secrets/password.js';
import { newToken } from '../secrets/random-token.js';
import { openFrom, SEALED, sealIn } from '../secrets/sealed-columns.js';
import { newTotpSecret, totpCounter, totpUri } from '../secrets/totp.js';
import { deleteBackupCodes, replaceBackupCodes, useBackupCode } from './backup-codes.js';
import type { SessionRow, UserRow } from './rows.js';
import {
  clearTotp,
  confirmTotp,
  deletePasskeys,
  lockUser,
  secondFactorsOf,
  setUnconfirmedTotp,
  useTotpCounter,
} from './second-factor-store.js';
import { deleteOtherSessions, deleteSessions, rotateSession } from './session-store.js';
import { findUserByEmail } from './store.js';

type Deps = Pick<CommandDeps, 'keyring'>;

/**
 * The user whose second factor changes, and the session that changes it. The session gets a new token, because its
 * privileges change.
 */
export interface SessionOf {
  userId: string;
  sessionId: string;
}

export interface Rotated {
  token: string;
  session: SessionRow;
}

/** Throws invalid_request if the password is wrong. Takes equally long if the user is unknown or has no password. */
export async function assertPassword(db: Db, email: string, password: string): Promise<void> {
  const user = await findUserByEmail(db, email);
  if (await verifyPassword(password, user?.password_hash ?? null)) return;
  throw invalidRequest('/password', 'is not the password of this account');
}

/**
 * Creates a TOTP secret, which takes effect once it is confirmed. Throws conflict if the user has a confirmed secret.
 */
export async function enrolSecondFactor(
  trx: Transaction,
  { keyring }: Deps,
  userId: string,
): Promise<{ secret: string; uri: string }> {
  const user = await lockUserOrThrow(trx, userId);
  if (user.totp_confirmed_at) throw conflict('A second factor is enrolled already; remove it first');
  const secret = newTotpSecret();
  await setUnconfirmedTotp(trx, userId, sealIn(keyring, SEALED.totp, userId, secret));
  return { secret, uri: totpUri(secret, user.email) };
}

/**
 * Confirms the authenticator, and ends the user's other sessions. Throws conflict if no authenticator waits for its
 * confirmation, and invalid_request if the code is wrong.
 */
export async function confirmSecondFactor(
  trx: Transaction,
  deps: Deps,
  { userId, sessionId, code }: SessionOf & { code: string },
): Promise<Rotated> {
  const user = await lockUserOrThrow(trx, userId);
  if (!user.totp_sealed || user.totp_confirmed_at) throw conflict('There is no enrolment to confirm');
  await assertCode(trx, deps, user, code);
  await confirmTotp(trx, userId);
  return rotate(trx, { userId, sessionId }, true);
}

/**
 * Removes the user's authenticator and backup codes, and ends the user's other sessions. Keeps passkeys, and if the
 * user has a passkey, the session still counts as verified by a second factor. Throws conflict if there is no
 * authenticator, and invalid_request if the code is wrong.
 */
export async function removeSecondFactor(
  trx: Transaction,
  deps: Deps,
  { userId, sessionId, code }: SessionOf & { code: string },
): Promise<Rotated> {
  const user = await lockUserOrThrow(trx, userId);
  if (!user.totp_confirmed_at) throw conflict('No second factor is enrolled');
  await assertCode(trx, deps, user, code);
  await clearTotp(trx, userId);
  await deleteBackupCodes(trx, userId);
  return rotate(trx, { userId, sessionId }, (await secondFactorsOf(trx, userId)).passkey);
}

/**
 * Replaces the backup codes. Throws conflict if there is no authenticator, and invalid_request if the code is wrong.
 */
export async function newBackupCodes(
  trx: Transaction,
  deps: Deps,
  { userId, code }: Pick<SessionOf, 'userId'> & { code: string },
): Promise<string[]> {
  const user = await lockUserOrThrow(trx, userId);
  if (!user.totp_confirmed_at) throw conflict('No second factor is enrolled');
  await assertCode(trx, deps, user, code);
  return replaceBackupCodes(trx, userId);
}

/**
 * Removes all second factors of a user who has lost them, and ends the user's sessions. Throws not_found if there is no
 * such user, and conflict if the user has no second factor.
 */
export async function resetSecondFactor(trx: Transaction, text: string): Promise<UserRow> {
  const email = text.trim().toLowerCase();
  const found = await findUserByEmail(trx, email);
  const user = found && (await lockUser(trx, found.id));
  if (!user) throw new AppError('not_found', `There is no user ${email}`);
  const passkeys = await deletePasskeys(trx, user.id);
  if (!user.totp_sealed && passkeys === 0) throw conflict(`${email} has no second factor`);
  await clearTotp(trx, user.id);
  await deleteBackupCodes(trx, user.id);
  await deleteSessions(trx, user.id);
  return user;
}

/** Marks a one-time code or backup code as used. Returns false if the code is wrong or was used before. */
export async function useCode(
  trx: Transaction,
  { keyring }: Deps,
  user: Pick<UserRow, 'id' | 'totp_sealed'>,
  code: string,
): Promise<boolean> {
  if (!user.totp_sealed) return false;
  if (code.includes('-')) return useBackupCode(trx, user.id, code);
  const counter = totpCounter(openFrom(keyring, SEALED.totp, user.id, user.totp_sealed), code, new Date());
  return counter !== null && useTotpCounter(trx, user.id, counter);
}

/** Returns true if the user has a confirmed authenticator. Ignores passkeys. */
export async function hasSecondFactor(db: Db, userId: string): Promise<boolean> {
  const user = await db<UserRow>('users').where({ id: userId }).first('totp_confirmed_at');
  return user?.totp_confirmed_at != null;
}

async function assertCode(trx: Transaction, deps: Deps, user: UserRow, code: string): Promise<void> {
  if (await useCode(trx, deps, user, code)) return;
  throw invalidRequest('/code', 'is not the current code of the authenticator and no backup code, or was used before');
}

async function rotate(trx: Transaction, { userId, sessionId }: SessionOf, secondFactor: boolean): Promise<Rotated> {
  await deleteOtherSessions(trx, userId, sessionId);
  const { token, hash } = newToken();
  const session = await rotateSession(trx, sessionId, { tokenHash: hash, secondFactor });
  if (!session) throw new AppError('unauthenticated');
  return { token, session };
}

async function lockUserOrThrow(trx: Transaction, userId: string): Promise<UserRow> {
  const user = await lockUser(trx, userId);
  if (!user) throw new AppError('unauthenticated');
  return user;
}
