import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, invalidRequest } from '../../../shared/core/error-registry.js';
import type { CreatedKey } from '../../../shared/identity/commands.js';
import type { KeyScope } from '../../../shared/identity/policy.js';
import { countApiKeys, findMembership, insertApiKey } from '../../../shared/identity/store.js';
import { newApiKey } from '../../../shared/secrets/api-key.js';
import { lockWorkspace } from '../../../shared/workspaces/store.js';

const MAX_KEYS = 50;

/**
 * Creates a key for the caller. Throws invalid_request if the key would have expired already, not_found if the caller
 * is no member, and capacity_exceeded if the caller has too many keys.
 */
export async function createOwnKey(
  trx: Transaction,
  input: { workspaceId: string; userId: string; name: string; scope: KeyScope; expiresAt: Date | null },
): Promise<CreatedKey> {
  const { workspaceId, userId, scope, expiresAt } = input;
  if (expiresAt !== null && !(expiresAt.getTime() > Date.now()))
    throw invalidRequest('/expiresAt', 'must be in the future');
  await lockWorkspace(trx, workspaceId);
  if (!(await findMembership(trx, workspaceId, userId))) throw new AppError('not_found');
  if ((await countApiKeys(trx, workspaceId, userId)) >= MAX_KEYS)
    throw new AppError('capacity_exceeded', `You have ${MAX_KEYS} keys in this workspace; delete one first`);
  const { key, lookup, secretHash } = newApiKey();
  const name = input.name.trim();
  return { key, row: await insertApiKey(trx, { workspaceId, userId, name, scope, lookup, secretHash, expiresAt }) };
}
