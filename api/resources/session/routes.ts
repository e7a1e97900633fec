import { AppError } from '../../../shared/core/error-registry.js';
import { deleteSession } from '../../../shared/identity/session-store.js';
import {
  beginSession,
  type SignedIn,
  type SignInInput,
  signIn,
  signInWithLink,
} from '../../../shared/identity/sign-in.js';
import { hashPassword, verifyPassword } from '../../../shared/secrets/password.js';
import { hashToken } from '../../../shared/secrets/random-token.js';
import { clearCookie, readCookie, writeCookie } from '../../auth/cookies.js';
import { clientOf } from '../../http/client-identity.js';
import { defineRoute, type SessionRequest } from '../../http/route.js';
import { acceptInvitation, assertInvited } from '../invitations/commands.js';
import { bootstrap, bootstrapOf } from './bootstrap.js';
import { ownInvitationRoutes } from './invitation-routes.js';
import { mfaRoutes } from './mfa-routes.js';
import {
  type BootstrapPresentation,
  BootstrapResponse,
  InvitationBody,
  LinkBody,
  SignedOutResponse,
  SignInBody,
} from './schema.js';
import { verificationRoutes } from './verification-routes.js';

/** Routes of browser sessions (specification, Authentication 3). */
export const sessionRoutes = [
  defineRoute({
    method: 'GET',
    path: '/bootstrap',
    access: 'anyone',
    operation: 'session.bootstrap',
    summary: 'Read the session',
    description:
      'The signed-in user, the workspaces and the csrfToken that writes need. Without a session user is null.',
    response: BootstrapResponse,
    handler: ({ deps, ctx }) => bootstrap(deps, ctx),
  }),
  defineRoute({
    method: 'POST',
    path: '/session',
    access: 'signing-in',
    operation: 'session.create',
    summary: 'Sign in',
    description: "Signs in with e-mail and password: sets the session's cookie, and answers like bootstrap.",
    errors: ['mfa_required'],
    body: SignInBody,
    response: BootstrapResponse,
    handler: async (request) => {
      const { deps, limits, ctx, body } = request;
      const guess = await limits.guesses.password(ctx, body.email);
      // Only the hash of the password waits for its turn. The queries after it do not delay other users.
      const verify: typeof verifyPassword = (...given) => limits.hashing.run(guess, () => verifyPassword(...given));
      const signedIn = await signIn(deps.db, deps, { ...body, ...(await inputOf(request)), verify });
      await guess.giveBack();
      return welcome(request, signedIn);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/session/link',
    access: 'signing-in',
    operation: 'session.createFromLink',
    summary: 'Sign in with a link',
    description: 'Signs in with the token of a one-time link, as npm start prints it. The token is used up.',
    errors: ['mfa_required'],
    body: LinkBody,
    response: BootstrapResponse,
    handler: async (request) => {
      const { deps, body } = request;
      return welcome(request, await signInWithLink(deps.db, deps, { ...body, ...(await inputOf(request)) }));
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/session/invitation',
    access: 'signing-in',
    operation: 'session.createFromInvitation',
    summary: 'Accept an invitation as a new user',
    description: 'Creates the account of a person who was invited by e-mail, and signs in. The token is used up.',
    errors: ['conflict', 'capacity_exceeded'],
    body: InvitationBody,
    response: BootstrapResponse,
    handler: async (request) => {
      const { deps, limits, body } = request;
      const input = await inputOf(request);
      await assertInvited(deps.db, body.token);
      const passwordHash = await limits.hashing.run({ client: input.client, account: null }, () =>
        hashPassword(body.password),
      );
      const user = await deps.db.transaction((trx) => acceptInvitation(trx, { token: body.token, passwordHash }));
      return welcome(request, await beginSession(deps.db, deps, user, input));
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/session',
    access: 'session',
    operation: 'session.delete',
    summary: 'Sign out',
    description: 'Ends the session, whose cookie then becomes invalid.',
    response: SignedOutResponse,
    handler: async ({ deps, ctx }) => {
      const token = readCookie(ctx, 'session');
      if (token !== null) await deleteSession(deps.db, hashToken(token));
      clearCookie(ctx, 'session');
      return { signedOut: true } as const;
    },
  }),
  ...ownInvitationRoutes,
  ...mfaRoutes,
  ...verificationRoutes,
];

async function inputOf({ limits, ctx }: SessionRequest): Promise<Omit<SignInInput, 'otp'>> {
  return {
    client: await clientOf(ctx),
    replaces: readCookie(ctx, 'session'),
    bound: !ctx.state.tls,
    countCode: (userId) => limits.guesses.code(ctx, userId),
  };
}

/** Sets the session's cookie, and returns the first data of the page. */
async function welcome({ deps, ctx }: SessionRequest, { token, session }: SignedIn): Promise<BootstrapPresentation> {
  writeCookie(ctx, 'session', token, session.expires_at);
  clearCookie(ctx, 'visitor');
  const answer = await bootstrapOf(deps, ctx, token);
  if (!answer) throw new AppError('unauthenticated');
  return answer;
}
