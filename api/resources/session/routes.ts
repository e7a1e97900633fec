import { signIn } from '../../../shared/commands/sign-in.js';
import { deleteSession } from '../../../shared/db/sessions.js';
import { AppError } from '../../../shared/errors.js';
import { hashToken } from '../../../shared/secrets/token.js';
import { clearCookie, readCookie, writeCookie } from '../../cookies.js';
import { bootstrap, bootstrapOf } from './bootstrap.js';
import { mfaRoutes } from './mfa.js';
import { defineSession, type SessionRoute } from './route.js';
import { BootstrapResponse, SignedOutResponse, SignInBody } from './schema.js';
import { verificationRoutes } from './verification.js';

/** The routes of browser sessions (specification, Authentication 3; design, Wire decisions). */
export const SESSION_ROUTES: readonly SessionRoute[] = [
  defineSession({
    method: 'GET',
    path: '/bootstrap',
    operation: 'session.bootstrap',
    summary: 'Read who is signed in, his workspaces and the token that his writes need',
    access: 'anyone',
    response: BootstrapResponse,
    handler: ({ deps, ctx }) => bootstrap(deps, ctx),
  }),
  defineSession({
    method: 'POST',
    path: '/session',
    operation: 'session.create',
    summary: 'Sign in: sets the session cookie, and answers as /api/bootstrap does from now on',
    access: 'signing-in',
    body: SignInBody,
    response: BootstrapResponse,
    handler: async ({ deps, limits, ctx, body }) => {
      const giveBack = await limits.passwords.take(ctx, body.email.trim().toLowerCase());
      const { token, session } = await signIn(deps.db, deps, { ...body, replaces: readCookie(ctx, 'session') });
      await giveBack();
      writeCookie(ctx, 'session', token, session.expires_at);
      clearCookie(ctx, 'visitor');
      const answer = await bootstrapOf(deps, token);
      if (!answer) throw new AppError('unauthenticated');
      return answer;
    },
  }),
  defineSession({
    method: 'DELETE',
    path: '/session',
    operation: 'session.delete',
    summary: 'Sign out: the session ends, whoever else has its cookie',
    access: 'session',
    response: SignedOutResponse,
    handler: async ({ deps, ctx }) => {
      const token = readCookie(ctx, 'session');
      if (token !== null) await deleteSession(deps.db, hashToken(token));
      clearCookie(ctx, 'session');
      return { signedOut: true } as const;
    },
  }),
  ...mfaRoutes,
  ...verificationRoutes,
];
