import type { Static } from 'typebox';
import { invalidRequest } from '../../../shared/core/error-registry.js';
import { assertPassword } from '../../../shared/identity/second-factor.js';
import { isFreshWithoutPassword } from '../../../shared/identity/session-store.js';
import type { SignedInRequest } from '../../http/route.js';
import type { EnrolBody } from './schema.js';

/**
 * Checks that the session's own user makes the request, before a credential that can sign in is added. Throws
 * invalid_request if the password is wrong, or missing although the user has one or signed in too long ago. Throws
 * rate_limited.
 */
export async function assertProof({ deps, limits, ctx, caller, body }: SignedInRequest<Static<typeof EnrolBody>>) {
  const { password } = body;
  if (password === undefined) {
    if (await isFreshWithoutPassword(deps.db, caller.credentialId)) return;
    throw invalidRequest('/password', 'is missing; a user without one signs in again first');
  }
  const { client, giveBack } = await limits.guesses.password(ctx, caller.email);
  const hasher = { client, account: caller.email };
  await limits.hashing.run(hasher, () => assertPassword(deps.db, caller.email, password));
  await giveBack();
}
