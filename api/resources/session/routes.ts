import { deleteSession } from '../../../shared/identity/session-store.js';
import { beginSession, signIn, signInWithLink } from '../../../shared/identity/sign-in.js';
import { hashPassword, verifyPassword } from '../../../shared/secrets/password.js';
import { hashToken } from '../../../shared/secrets/random-token.js';
import { clearCookie, readCookie } from '../../auth/cookies.js';
import { defineRoute } from '../../http/route.js';
import { acceptInvitation, assertInvited } from '../invitations/commands.js';
import { bootstrap } from './bootstrap.js';
import { ownInvitationRoutes } from './invitation-routes.js';
import { mfaRoutes } from './mfa-routes.js';
import { passkeyRoutes } from './passkeys/routes.js';
import { passkeyInput } from './passkeys/second-step.js';
import { findProviderSignIn, providerSignOutUrl } from './provider/sign-out.js';
import { BootstrapResponse, InvitationBody, LinkBody, SignedOutResponse, SignInBody } from './schema.js';
import { ownSessionRoutes } from './session-routes.js';
import { verificationRoutes } from './verification-routes.js';
import { inputOf, welcome } from './welcome.js';

/** Routes of browser sessions (specification, Authentication 3). */
export const sessionRoutes = [
  defineRoute('GET', '/bootstrap', 'session.bootstrap', {
    access: 'anyone',
    summary: 'Read the session',
    description:
      'The signed-in user, the workspaces and the csrfToken that writes need. Without a session user is null.',
    response: BootstrapResponse,
    handler: ({ deps, ctx }) => bootstrap(deps, ctx),
  }),
  defineRoute('POST', '/session', 'session.create', {
    access: 'signing-in',
    summary: 'Sign in',
    description: "Signs in with e-mail and password: sets the session's cookie, and answers like bootstrap.",
    errors: ['mfa_required'],
    body: SignInBody,
    response: BootstrapResponse,
    handler: async (request) => {
      const { deps, limits, ctx, body } = request;
      const guess = await limits.guesses.password(ctx, body.email);
      // Hashing uses a CPU core, so hashes wait for their turn. Database queries run without waiting.
      const verify: typeof verifyPassword = (...given) => limits.hashing.run(guess, () => verifyPassword(...given));
      const { email, password, otp } = body;
      const input = { email, password, otp, ...(await inputOf(request)), ...passkeyInput(request, body) };
      const signedIn = await signIn(deps.db, deps, { ...input, verify });
      await guess.giveBack();
      return welcome(request, signedIn);
    },
  }),
  defineRoute('POST', '/session/link', 'session.createFromLink', {
    access: 'signing-in',
    summary: 'Sign in with a link',
    description: 'Signs in with the token of a one-time link, as npm start prints it. The token is used up.',
    errors: ['mfa_required'],
    body: LinkBody,
    response: BootstrapResponse,
    handler: async (request) => {
      const { deps, body } = request;
      const { token, otp } = body;
      const input = { token, otp, ...(await inputOf(request)), ...passkeyInput(request, body) };
      return welcome(request, await signInWithLink(deps.db, deps, input));
    },
  }),
  defineRoute('POST', '/session/invitation', 'session.createFromInvitation', {
    access: 'signing-in',
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
      return welcome(request, await beginSession(deps.db, deps, user, { ...input, byPassword: true }));
    },
  }),
  defineRoute('DELETE', '/session', 'session.delete', {
    access: 'session',
    summary: 'Sign out',
    description:
      'Ends the session, whose cookie then becomes invalid. A browser then goes to providerUrl, if it is not null.',
    response: SignedOutResponse,
    handler: async ({ deps, ctx, caller }) => {
      const token = readCookie(ctx, 'session');
      const begun = await findProviderSignIn(deps.db, caller.credentialId);
      if (token !== null) await deleteSession(deps.db, hashToken(token));
      clearCookie(ctx, 'session');
      return { signedOut: true, providerUrl: begun && (await providerSignOutUrl(deps, begun)) } as const;
    },
  }),
  ...ownInvitationRoutes,
  ...mfaRoutes,
  ...ownSessionRoutes,
  ...passkeyRoutes,
  ...verificationRoutes,
];
