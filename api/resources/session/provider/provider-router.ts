import Router from '@koa/router';
import { AppError } from '../../../../shared/core/error-registry.js';
import { secondFactorsOf } from '../../../../shared/identity/second-factor-store.js';
import { beginSession, createSignInLink, type SignedIn } from '../../../../shared/identity/sign-in.js';
import { newToken } from '../../../../shared/secrets/random-token.js';
import { clearCookie, readCookie, writeCookie } from '../../../auth/cookies.js';
import type { ApiDeps } from '../../../http/api-deps.js';
import { clientOf } from '../../../http/client-identity.js';
import { senderOf } from '../../../http/origin.js';
import { consume, createLimiter } from '../../../http/rate-limit.js';
import type { ApiContext, ApiState } from '../../../http/request-state.js';
import type { SignInLimits } from '../../../http/route.js';
import { SIGN_IN_PATH } from '../../../pages/console-router.js';
import { admit } from './admit.js';
import { CALLBACK_PATH, START_PATH } from './paths.js';
import type { ProviderPerson } from './person.js';
import { ProviderClient } from './provider-client.js';
import { SignInFailure } from './sign-in-failure.js';
import { localPath, SignInStates } from './sign-in-state.js';
import { recordProviderSignIn } from './sign-out.js';

/** Sign-ins that one client can start per minute. Each may cause a request to the provider. */
const A_MINUTE = 60;

/** Serves the sign-in with the provider. Browsers navigate to these paths, so every response redirects to a page. */
export function providerRouter(deps: ApiDeps, limits: SignInLimits): Router<ApiState> {
  const { config, db } = deps;
  const router = new Router<ApiState>();
  if (!config.oidc) return router;
  const provider = new ProviderClient(config.oidc, config.publicUrl);
  const states = new SignInStates(Buffer.from(config.secretsKey.reveal(), 'base64'));
  const starts = createLimiter(db, 'provider-start', A_MINUTE);

  router.get(START_PATH, (ctx) =>
    leading(ctx, async () => {
      // Another site must not start a sign-in in this browser, because that would replace the browser's session.
      if (senderOf(ctx, config.publicUrl) === 'foreign') return SIGN_IN_PATH;
      await consume(ctx, starts, await clientOf(ctx));
      const { returnTo } = ctx.query;
      const path = localPath(typeof returnTo === 'string' ? returnTo : undefined);
      return (await provider.signInUrl(states.begin(await browserOf(ctx, true), path))).href;
    }),
  );

  router.get(CALLBACK_PATH, (ctx) =>
    leading(ctx, async () => {
      const giveBack = await limits.guesses.stranger(ctx);
      const { state } = ctx.query;
      const begun = states.resume(await browserOf(ctx, false), typeof state === 'string' ? state : '');
      if (!begun) throw new SignInFailure('expired', 'this browser has begun no such sign-in, or too long ago');
      const person = await provider.person(ctx.search, begun.bindings);
      const path = await signIn(deps, ctx, person, begun.returnTo);
      // This state is bound to the cookie. Once the cookie is cleared, another callback with the state fails.
      clearCookie(ctx, 'visitor');
      await giveBack();
      return path;
    }),
  );
  return router;
}

async function signIn(deps: ApiDeps, ctx: ApiContext, person: ProviderPerson, returnTo: string): Promise<string> {
  const { db } = deps;
  const user = await db.transaction((trx) => admit(trx, person, ctx.state.requestId));
  // The second factor is still missing: the browser gets a sign-in link, and the sign-in page asks for the factor.
  const has = await secondFactorsOf(db, user.id);
  if (has.totp || (has.asked && !person.secondFactor)) {
    const linkToken = await createSignInLink(db, user.email);
    await recordProviderSignIn(deps, { linkToken }, person.idToken);
    return `${SIGN_IN_PATH}#${linkToken}`;
  }
  const { token, session }: SignedIn = await beginSession(db, deps, user, {
    client: await clientOf(ctx),
    replaces: readCookie(ctx, 'session'),
    userAgent: ctx.get('User-Agent'),
    bound: !ctx.state.tls,
    // A sign-in with the provider sends no one-time code, so there is no guess to count.
    countCode: () => Promise.resolve(() => Promise.resolve()),
    byPassword: false,
    secondFactor: person.secondFactor,
  });
  await recordProviderSignIn(deps, { sessionId: session.id }, person.idToken);
  writeCookie(ctx, 'session', token, session.expires_at);
  return returnTo;
}

/**
 * Returns a text that identifies the browser: the value of its cookie. Without TLS, applications on other ports of the
 * host could set the cookie, so the client's address is added. Throws SignInFailure if there is no cookie to use.
 */
async function browserOf(ctx: ApiContext, create: boolean): Promise<string> {
  let cookie = readCookie(ctx, 'visitor');
  if (cookie === null && create) {
    cookie = newToken().token;
    writeCookie(ctx, 'visitor', cookie);
  }
  if (cookie === null) throw new SignInFailure('expired', 'the browser sent no cookie');
  return ctx.state.tls ? cookie : `${cookie} ${await clientOf(ctx)}`;
}

/** Redirects the browser to the path that `work` returns. If the sign-in fails, redirects to the sign-in page. */
async function leading(ctx: ApiContext, work: () => Promise<string>): Promise<void> {
  ctx.status = 303;
  try {
    ctx.redirect(await work());
  } catch (error) {
    const limited = error instanceof AppError && error.code === 'rate_limited';
    if (!limited && !(error instanceof SignInFailure)) throw error;
    const code = limited ? 'rate_limited' : error.code;
    ctx.state.log().info(`a sign-in with the provider failed (${code}): ${error.message}`);
    ctx.redirect(`${SIGN_IN_PATH}?error=${code}`);
  }
}
