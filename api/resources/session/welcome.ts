import { AppError } from '../../../shared/core/error-registry.js';
import type { SignedIn, SignInInput } from '../../../shared/identity/sign-in.js';
import { clearCookie, readCookie, writeCookie } from '../../auth/cookies.js';
import { clientOf } from '../../http/client-identity.js';
import type { SessionRequest } from '../../http/route.js';
import { bootstrapOf } from './bootstrap.js';
import type { BootstrapPresentation } from './schema.js';

/** Returns what a sign-in needs from the request besides its body, such as the client and its cookie. */
export async function inputOf({ limits, ctx }: SessionRequest): Promise<Omit<SignInInput, 'otp'>> {
  return {
    client: await clientOf(ctx),
    replaces: readCookie(ctx, 'session'),
    userAgent: ctx.get('User-Agent'),
    bound: !ctx.state.tls,
    countCode: (userId) => limits.guesses.code(ctx, userId),
  };
}

/** Sets the session cookie, and returns the bootstrap data of the console. */
export async function welcome(
  { deps, ctx }: SessionRequest,
  { token, session }: SignedIn,
): Promise<BootstrapPresentation> {
  writeCookie(ctx, 'session', token, session.expires_at);
  clearCookie(ctx, 'visitor');
  const answer = await bootstrapOf(deps, ctx, token);
  if (!answer) throw new AppError('unauthenticated');
  return answer;
}
