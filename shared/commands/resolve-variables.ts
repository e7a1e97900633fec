import { serviceUrl } from '../config.js';
import type { Transaction } from '../db/client.js';
import type { ServiceRow } from '../db/rows.js';
import { findProvider, type ProviderRow, type VariableSource, variablesReaching } from '../db/variable-sources.js';
import { isRouted, type ServiceKind } from '../domain/service.js';
import { AppError } from '../errors.js';
import { SealError } from '../secrets/keyring.js';
import type { CommandDeps } from './deps.js';

/**
 * The values a deployment runs with: groups' variables, the service's own over them, references followed to their
 * providers. Throws `source_invalid` naming the variable, where a reference has no provider, an archived one, or
 * comes back to itself.
 */
export async function resolveVariables(
  trx: Transaction,
  deps: CommandDeps,
  service: Pick<ServiceRow, 'id' | 'workspace_id'>,
): Promise<Record<string, string>> {
  const resolver = new Resolver(trx, deps, service.workspace_id);
  const values: Record<string, string> = {};
  for (const [key] of await resolver.variablesOf(service.id)) values[key] = await resolver.valueOf(service.id, key, []);
  return values;
}

class Resolver {
  readonly #trx: Transaction;
  readonly #deps: CommandDeps;
  readonly #workspaceId: string;
  readonly #variables = new Map<string, Map<string, VariableSource>>();

  constructor(trx: Transaction, deps: CommandDeps, workspaceId: string) {
    this.#trx = trx;
    this.#deps = deps;
    this.#workspaceId = workspaceId;
  }

  async variablesOf(serviceId: string): Promise<Map<string, VariableSource>> {
    const known = this.#variables.get(serviceId);
    if (known) return known;
    const found = new Map((await variablesReaching(this.#trx, serviceId)).map((variable) => [variable.key, variable]));
    this.#variables.set(serviceId, found);
    return found;
  }

  async valueOf(serviceId: string, key: string, path: readonly string[]): Promise<string> {
    const step = `${serviceId}/${key}`;
    if (path.includes(step)) throw invalid(path, `the references of ${key} go in a circle`);
    const variable = (await this.variablesOf(serviceId)).get(key);
    if (variable?.sealed) return this.#open(variable.sealed, variable.id, [...path, step]);
    if (variable?.reference_service_id && variable.reference_key) {
      return this.#follow(variable.reference_service_id, variable.reference_key, [...path, step]);
    }
    throw invalid(path, `the service it refers to has no variable ${key}`);
  }

  /** Fails closed: nothing is deployed without a value that it should have. */
  #open(sealed: Buffer, id: string, path: readonly string[]): string {
    try {
      return this.#deps.keyring.open(sealed, `variable:${id}`);
    } catch (error) {
      if (error instanceof SealError) throw invalid(path, `its value cannot be opened: ${error.message}`);
      throw error;
    }
  }

  async #follow(providerId: string, key: string, path: readonly string[]): Promise<string> {
    const provider = await findProvider(this.#trx, this.#workspaceId, providerId);
    if (!provider) throw invalid(path, 'the service it refers to does not exist');
    if (provider.archived) throw invalid(path, `the service "${provider.name}" it refers to is archived`);
    if ((await this.variablesOf(providerId)).has(key)) return this.valueOf(providerId, key, path);
    const offered = this.#offer(provider, key);
    if (offered === undefined) throw invalid(path, `the service "${provider.name}" has no variable ${key}`);
    return offered;
  }

  #offer(provider: ProviderRow, key: string): string | undefined {
    switch (key) {
      case 'HOST':
        return provider.slug;
      case 'PORT':
        return String(provider.port);
      case 'URL':
        return isRouted(provider.kind as ServiceKind)
          ? serviceUrl(this.#deps.config, provider.slug)
          : `http://${provider.slug}:${provider.port}`;
      default:
        return undefined;
    }
  }
}

function invalid(path: readonly string[], message: string): AppError {
  const variable = path[0]?.split('/')[1] ?? '';
  return new AppError('source_invalid', `Variable ${variable} cannot be resolved: ${message}`, [
    { path: `variables.${variable}`, message },
  ]);
}
