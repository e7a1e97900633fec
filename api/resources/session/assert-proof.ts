import type { Static } from 'typebox';
import { invalidRequest } from '../../../shared/core/error-registry.js';
import { assertPassword } from '../../../shared/identity/second-factor.js';
import { isFreshWithoutPassword } from '../../../shared/identity/session-store.js';
import type { SignedInRequest } from '../../http/route.js';
import type { EnrolBody } from './schema.js';

/**
 * Checks that the request comes from the user and not from a thief of the session. Throws invalid_request,
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
