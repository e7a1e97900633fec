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

/** The second factor: codes of an authenticator application (TOTP). */
export const mfaRoutes = [
  defineRoute({
    method: 'POST',
    path: '/session/mfa',
    access: 'session',
    operation: 'mfa.enrol',
    summary: 'Enrol a second factor',
    description: 'Creates the secret of an authenticator. It takes effect when it is confirmed.',
    errors: ['conflict'],
    body: PasswordBody,
    response: EnrolmentResponse,
    handler: async ({ deps, limits, ctx, caller, body }) => {
      // A thief with only the session must not lock its owner out by enrolling another authenticator.
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
    description: 'Needs the current code of the authenticator. Other sessions of the user end.',
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
    description: 'Needs the current code of the authenticator. Other sessions of the user end.',
    errors: ['conflict'],
    body: CodeBody,
    response: FactorResponse,
    handler: (request) => change(request, removeSecondFactor, false),
  }),
];

/** Counts the guess, and replaces the session's cookie because its rights change. Throws rate_limited. */
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
