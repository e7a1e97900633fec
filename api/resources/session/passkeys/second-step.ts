import type { Static } from 'typebox';
import { conflict, invalidRequest } from '../../../../shared/core/error-registry.js';
import { provenUser, type SignInInput } from '../../../../shared/identity/sign-in.js';
import { findSignInLink } from '../../../../shared/identity/sign-in-link-store.js';
import { verifyPassword } from '../../../../shared/secrets/password.js';
import { hashToken } from '../../../../shared/secrets/random-token.js';
import { readCookie } from '../../../auth/cookies.js';
import type { ApiContext } from '../../../http/request-state.js';
import type { SessionRequest } from '../../../http/route.js';
import type { PasskeyOptionsBody } from '../schema.js';
import { findPasskey, listPasskeys } from './passkey-store.js';
import type { PasskeyProof } from './schema.js';
import { type Purpose, refusedPasskey, SIGN_IN, signInOptions, usePasskey } from './web-authn.js';

type OptionsRequest = SessionRequest<Static<typeof PasskeyOptionsBody>>;

/**
 * Returns the WebAuthn options with which a browser asks for a passkey. If the body contains a password or a sign-in
 * link's token, it identifies a user, and the passkey must be one of this user's. Throws conflict if this user has no
 * passkey, and the errors of a sign-in.
 */
export async function passkeyOptions(request: OptionsRequest): Promise<Record<string, unknown>> {
  const { deps, ctx, body } = request;
  const userId = await firstProof(request);
  if (userId === null) return signInOptions(deps, SIGN_IN);
  const known = await listPasskeys(deps.db, userId);
  if (known.length === 0) throw conflict('This account has no passkey; enter a code of its authenticator');
  return signInOptions(deps, secondStep(ctx, userId, body.token), known);
}

/** Returns the function that checks a passkey as the second step of a sign-in. Returns {} without a passkey. */
export function passkeyInput(
  { deps, ctx }: SessionRequest,
  { passkey, token }: { passkey?: PasskeyProof; token?: string },
): Pick<SignInInput, 'usePasskey'> {
  if (passkey === undefined) return {};
  return {
    async usePasskey(trx, userId) {
      const found = await findPasskey(trx, passkey.id);
      if (found?.user.id !== userId) throw refusedPasskey('it is not one of this account');
      await usePasskey(trx, deps, found.passkey, passkey, secondStep(ctx, userId, token));
    },
  };
}

/** The purpose names the user, the link and the browser, so that the signature cannot be used for another sign-in. */
function secondStep(ctx: ApiContext, userId: string, token = ''): Purpose {
  const attempt = JSON.stringify([userId, token, readCookie(ctx, 'visitor')]);
  return { subject: `second step ${attempt}`, verifiesUser: false };
}

/** Returns the id of the user whose password or sign-in link is in the body; null if it contains neither. */
async function firstProof({ deps, limits, ctx, body }: OptionsRequest): Promise<string | null> {
  const { email, password, token } = body;
  if (token !== undefined) return (await findSignInLink(deps.db, hashToken(token)))?.id ?? refusedLink();
  if (email === undefined && password === undefined) return null;
  if (email === undefined) throw invalidRequest('/email', 'is missing');
  if (password === undefined) throw invalidRequest('/password', 'is missing');
  const guess = await limits.guesses.password(ctx, email);
  const verify: typeof verifyPassword = (...given) => limits.hashing.run(guess, () => verifyPassword(...given));
  const { id } = await provenUser(deps.db, { email, password, verify });
  await guess.giveBack();
  return id;
}

function refusedLink(): never {
  throw invalidRequest('/token', 'is unknown, was used or has expired');
}
