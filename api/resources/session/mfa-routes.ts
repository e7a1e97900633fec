import type { Static } from 'typebox';
import {
  assertPassword,
  confirmSecondFactor,
  enrolSecondFactor,
  type Rotated,
  removeSecondFactor,
} from '../../../shared/identity/second-factor.js';
import { writeCookie } from '../../auth/cookies.js';
import { defineRoute, type SignedInRequest } from '../../http/route.js';
import { CodeBody, EnrolmentResponse, FactorResponse, PasswordBody } from './schema.js';

/** The second factor: one-time codes of an authenticator application (TOTP). */
export const mfaRoutes = [
  defineRoute({
    method: 'POST',
    path: '/session/mfa',
    access: 'session',
    operation: 'mfa.enrol',
    summary: 'Enrol a second factor',
    description:
      'Creates the secret for an authenticator application. The second factor is required once it is confirmed.',
    errors: ['conflict'],
    body: PasswordBody,
    response: EnrolmentResponse,
    handler: async ({ deps, limits, ctx, caller, body }) => {
      // The password is required: a thief of the session could otherwise enrol an authenticator and lock the owner out.
      const { client, giveBack } = await limits.guesses.password(ctx, caller.email);
      const hasher = { client, account: caller.email };
      await limits.hashing.run(hasher, () => assertPassword(deps.db, caller.email, body.password));
      await giveBack();
      const { secret, uri } = await deps.db.transaction((trx) => enrolSecondFactor(trx, deps, caller.userId));
      return { secret, otpauthUri: uri };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/session/mfa/confirm',
    access: 'session',
    operation: 'mfa.confirm',
    summary: 'Confirm the second factor',
    description:
      'Turns the second factor on. Needs the current code of the authenticator; other sessions of the user end.',
    errors: ['conflict'],
    body: CodeBody,
    response: FactorResponse,
    handler: (request) => change(request, confirmSecondFactor, true),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/session/mfa',
    access: 'session',
    operation: 'mfa.remove',
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
 * Counts a guess at the code. After a right code, replaces the session's cookie, because its rights change. Throws
 * rate_limited.
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
