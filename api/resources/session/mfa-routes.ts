import type { Static } from 'typebox';
import { countBackupCodes } from '../../../shared/identity/backup-codes.js';
import {
  confirmSecondFactor,
  enrolSecondFactor,
  hasSecondFactor,
  newBackupCodes,
  type Rotated,
  removeSecondFactor,
} from '../../../shared/identity/second-factor.js';
import { writeCookie } from '../../auth/cookies.js';
import { defineRoute, type SignedInRequest } from '../../http/route.js';
import { assertProof } from './assert-proof.js';
import {
  BackupCodesResponse,
  CodeBody,
  EnrolBody,
  EnrolmentResponse,
  FactorResponse,
  FactorStateResponse,
} from './schema.js';

/** The second factor: one-time codes from an authenticator application (TOTP). */
export const mfaRoutes = [
  defineRoute('GET', '/session/mfa', 'mfa.read', {
    access: 'session',
    summary: 'Read the second factor',
    description: 'Whether the signed-in user has a second factor, and how many backup codes are left.',
    response: FactorStateResponse,
    handler: async ({ deps: { db }, caller }) => ({
      mfaEnabled: await hasSecondFactor(db, caller.userId),
      backupCodes: await countBackupCodes(db, caller.userId),
    }),
  }),
  defineRoute('POST', '/session/mfa/backup-codes', 'mfa.createBackupCodes', {
    access: 'session',
    summary: 'Make backup codes',
    description: 'Makes ten codes, each of which replaces one code of the authenticator. Earlier ones become invalid.',
    errors: ['conflict'],
    body: CodeBody,
    response: BackupCodesResponse,
    handler: async ({ deps, limits, ctx, caller, body }) => {
      const giveBack = await limits.guesses.code(ctx, caller.userId);
      const { userId } = caller;
      const codes = await deps.db.transaction((trx) => newBackupCodes(trx, deps, { userId, code: body.code }));
      await giveBack();
      return { codes };
    },
  }),
  defineRoute('POST', '/session/mfa', 'mfa.enrol', {
    access: 'session',
    summary: 'Enrol a second factor',
    description:
      'Creates the secret for an authenticator application. The second factor is required once it is confirmed.',
    errors: ['conflict'],
    body: EnrolBody,
    example: { password: 'correct horse battery staple' },
    response: EnrolmentResponse,
    handler: async (request) => {
      // Otherwise someone who stole the session could enrol an authenticator and lock the owner out.
      await assertProof(request);
      const { deps, caller } = request;
      const { secret, uri } = await deps.db.transaction((trx) => enrolSecondFactor(trx, deps, caller.userId));
      return { secret, otpauthUri: uri };
    },
  }),
  defineRoute('POST', '/session/mfa/confirm', 'mfa.confirm', {
    access: 'session',
    summary: 'Confirm the second factor',
    description:
      'Turns the second factor on. Needs the current code of the authenticator; other sessions of the user end.',
    errors: ['conflict'],
    body: CodeBody,
    response: FactorResponse,
    handler: (request) => change(request, confirmSecondFactor, true),
  }),
  defineRoute('DELETE', '/session/mfa', 'mfa.remove', {
    access: 'session',
    summary: 'Remove the second factor',
    description:
      'Turns the second factor off. Needs the current code of the authenticator; other sessions of the user end.',
    errors: ['conflict'],
    body: CodeBody,
    response: FactorResponse,
    handler: (request) => change(request, removeSecondFactor, false),
  }),
];

/**
 * Confirms or removes the second factor: runs `command` with the code in the body. Counts a wrong code as a guess.
 * Replaces the session cookie, because the session's privileges change.
 */
async function change(
  { deps, limits, ctx, caller, body }: SignedInRequest<Static<typeof CodeBody>>,
  command: typeof confirmSecondFactor,
  mfaEnabled: boolean,
): Promise<Static<typeof FactorResponse>> {
  const giveBack = await limits.guesses.code(ctx, caller.userId);
  const of = { userId: caller.userId, sessionId: caller.credentialId, code: body.code };
  const { token, session }: Rotated = await deps.db.transaction((trx) => command(trx, deps, of));
  await giveBack();
  writeCookie(ctx, 'session', token, session.expires_at);
  return { mfaEnabled, csrfToken: deps.csrf.tokenFor(token) };
}
