import type { Static } from '@sinclair/typebox';
import {
  confirmSecondFactor,
  enrolSecondFactor,
  type Rotated,
  removeSecondFactor,
} from '../../../shared/commands/second-factor.js';
import { writeCookie } from '../../cookies.js';
import { defineSession, type SignedInRequest } from './route.js';
import { CodeBody, EnrolmentResponse, FactorResponse } from './schema.js';

/** The second factor: codes of an authenticator application (TOTP). */
export const mfaRoutes = [
  defineSession({
    method: 'POST',
    path: '/session/mfa',
    operation: 'mfa.enrol',
    summary: 'Make a secret for an authenticator; it counts once it is confirmed',
    access: 'session',
    response: EnrolmentResponse,
    handler: async ({ deps, caller }) => {
      const { secret, uri } = await deps.db.transaction((trx) => enrolSecondFactor(trx, deps, caller.userId));
      return { secret, otpauthUri: uri };
    },
  }),
  defineSession({
    method: 'POST',
    path: '/session/mfa/confirm',
    operation: 'mfa.confirm',
    summary: 'Confirm the authenticator with its current code; other sessions end',
    access: 'session',
    body: CodeBody,
    response: FactorResponse,
    handler: (request) => change(request, confirmSecondFactor, true),
  }),
  defineSession({
    method: 'DELETE',
    path: '/session/mfa',
    operation: 'mfa.remove',
    summary: 'Remove the second factor with its current code; other sessions end',
    access: 'session',
    body: CodeBody,
    response: FactorResponse,
    handler: (request) => change(request, removeSecondFactor, false),
  }),
];

/** Guesses are counted, and the session's cookie changes with what it may do. */
async function change(
  { deps, limits, ctx, caller, body }: SignedInRequest<Static<typeof CodeBody>>,
  command: typeof confirmSecondFactor,
  mfaEnabled: boolean,
): Promise<Static<typeof FactorResponse>> {
  const giveBack = await limits.codes.take(ctx, caller.userId);
  const of = { userId: caller.userId, sessionId: caller.credentialId, code: body.code };
  const { token, session }: Rotated = await deps.db.transaction((trx) => command(trx, deps, of));
  await giveBack();
  writeCookie(ctx, 'session', token, session.expires_at);
  return { mfaEnabled, csrfToken: deps.csrf.tokenFor(token) };
}
