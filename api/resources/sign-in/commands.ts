import type { Config } from '../../../shared/core/config.js';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { conflict, invalidRequest } from '../../../shared/core/error-registry.js';
import { lockWorkspaceOrThrow } from '../../../shared/workspaces/store.js';
import type { Caller } from '../../http/api-deps.js';
import {
  allowPasswords,
  domainsOfOwners,
  findSignInSettings,
  type SignInSettings,
  saveSignInSettings,
} from './settings-store.js';

/**
 * Replaces the sign-in settings. Throws invalid_request for a new domain in which no owner has a verified address: a
 * workspace must not add another company's people. Throws conflict if the caller would lock themselves out.
 */
export async function updateSignIn(
  trx: Transaction,
  {
    workspaceId,
    settings,
    caller,
    provider,
  }: { workspaceId: string; settings: SignInSettings; caller: Pick<Caller, 'byPassword'>; provider: Config['oidc'] },
): Promise<void> {
  await lockWorkspaceOrThrow(trx, workspaceId);
  const before = await findSignInSettings(trx, workspaceId);
  const added = settings.allowedDomains.filter((domain) => !before.allowedDomains.includes(domain));
  const own = await domainsOfOwners(trx, workspaceId, added);
  const foreign = added.find((domain) => !own.includes(domain));
  if (foreign !== undefined) {
    const path = `/allowedDomains/${settings.allowedDomains.indexOf(foreign)}`;
    throw invalidRequest(path, 'must be the domain of a verified e-mail address of an owner of the workspace');
  }
  if (!settings.passwords) assertProven(caller, provider);
  await saveSignInSettings(trx, workspaceId, settings);
}

function assertProven({ byPassword }: Pick<Caller, 'byPassword'>, provider: Config['oidc']): void {
  if (!provider) throw conflict('This installation has no provider to sign in with, so passwords have to stay');
  if (byPassword) throw conflict(`Sign in with ${provider.name} first: this session would not reach the workspace`);
}

/** Lets an operator allow password sessions again. Throws not_found, and conflict if they are already allowed. */
export async function reopenToPasswords(trx: Transaction, workspaceId: string): Promise<void> {
  await lockWorkspaceOrThrow(trx, workspaceId);
  const { passwords } = await findSignInSettings(trx, workspaceId);
  if (passwords) throw conflict('Passwords reach the workspace already');
  await allowPasswords(trx, workspaceId);
}
