import type { Transaction } from '../../../shared/core/database/database-client.js';
import { conflict, invalidRequest } from '../../../shared/core/error-registry.js';
import type { HookProvider } from '../../../shared/hooks/model.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import { SEALED, sealIn } from '../../../shared/secrets/sealed-columns.js';
import { isImageSource, isPushSource } from '../../../shared/services/service-source.js';
import type { ServiceView } from '../../../shared/services/store.js';
import { webhookUrlProblem } from '../../../shared/webhooks/model.js';
import { forgeAddress } from './forge-address.js';

export interface ReportsInput {
  service: ServiceView;
  hook: { id: string; provider: HookProvider };
  /** Access token for the git host; '' stops reporting. */
  token: string;
  apiUrl?: string;
}

/**
 * Makes a hook report to its git host. The API's URL is stored with the token, so that a later change of the repository
 * cannot send the token to another host. Throws invalid_request for invalid input, and conflict for a hook of a
 * preview.
 */
export async function setReports(
  trx: Transaction,
  { keyring, config }: CommandDeps,
  { service, hook: { id, provider }, token, apiUrl }: ReportsInput,
): Promise<void> {
  if (token === '') {
    if (apiUrl !== undefined) throw invalidRequest('/apiUrl', 'needs a token');
    await trx('forge_targets').where({ id }).delete();
    return;
  }
  if (provider === 'generic') throw invalidRequest('/token', 'needs a git host: a deploy hook has none');
  if (service.preview_of !== null)
    throw conflict('A preview is reported by the hooks of its service: make the hook there');
  if (isImageSource(service.configuration) || isPushSource(service.configuration))
    throw invalidRequest('/token', 'needs a service that is deployed from a repository of the git host');
  const address = forgeAddress(provider, service.configuration.repository, apiUrl);
  if (address === null) {
    const what = apiUrl === undefined ? 'the API and the repository of' : 'the repository at';
    throw invalidRequest(
      apiUrl === undefined ? '/apiUrl' : '/token',
      `${what} the git host cannot be derived from the repository's address`,
    );
  }
  const problem = urlProblem(address.apiUrl, config.allowLocalRepositories);
  if (problem !== null) throw invalidRequest('/apiUrl', problem);
  const target = {
    forge: provider,
    api_url: address.apiUrl,
    project: address.project,
    sealed_token: sealIn(keyring, SEALED.forgeToken, id, token),
    not_before: trx.fn.now(),
    failures: 0,
  };
  // If the hook now reports to another repository, its row is deleted first, together with the reports to the old
  // repository. Their comments cannot be updated in the new repository.
  const other = [address.apiUrl, address.project];
  await trx('forge_targets').where({ id }).whereRaw('(api_url, project) is distinct from (?, ?)', other).delete();
  await trx('forge_targets')
    .insert({ id, workspace_id: service.workspace_id, service_id: service.id, ...target })
    .onConflict('id')
    .merge(target);
}

function urlProblem(apiUrl: string, allowLocal: boolean): string | null {
  const problem = webhookUrlProblem(apiUrl, allowLocal);
  if (problem !== null) return problem;
  const { search, hash } = new URL(apiUrl);
  return search === '' && hash === '' ? null : 'must have no query and no fragment';
}
