import { serviceUrl } from '../core/config.js';
import type { Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import { type DataReference, OFFERED_KEYS } from '../data/model.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { SealError } from '../secrets/keyring.js';
import { openFrom, SEALED } from '../secrets/sealed-columns.js';
import { isDataKind, isRouted, type ServiceKind } from '../services/model.js';
import type { ServiceRow } from '../services/rows.js';
import { type DeploymentScope, MAX_VARIABLES, VARIABLES_BYTES } from './model.js';
import {
  findReferencedVariable,
  type ProviderRow,
  type Referred,
  sizeReaching,
  type VariableSource,
  variablesReaching,
} from './source-store.js';

export interface ResolvedVariables {
  values: Record<string, string>;
  /** Variables that refer to the address or login of a database. Their values are read when the release starts. */
  dataReferences: Record<string, DataReference>;
  /** Sorted ids of the other services (`providerIds`) and the environment groups from which values come. */
  providerIds: string[];
  groupIds: string[];
  /**
   * True if a value came from a protected environment, or from a group that belongs to such an environment or is linked
   * to a service in one.
   */
  readProtected: boolean;
}

/** No variables. Used for untrusted code, such as a fork's. */
export const NO_VARIABLES: ResolvedVariables = {
  values: {},
  dataReferences: {},
  providerIds: [],
  groupIds: [],
  readProtected: false,
};

/** The service whose variables a deployment gets. A preview gets the variables of its base service. */
export interface VariablesOf {
  serviceId: string;
  scope: DeploymentScope;
}

export interface ResolveInput {
  service: Pick<ServiceRow, 'id' | 'workspace_id'>;
  variables: VariablesOf;
  /**
   * Called before a value from a protected environment is read. Throws if the user who deploys has no access to that
   * environment, no matter who stored the reference.
   */
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

/** Maximum number of variables that a service and its groups together give to a deployment. */
const MAX_REACHING = 2 * MAX_VARIABLES;
/** Maximum length of a chain of references. */
const MAX_STEPS = 32;

/**
 * Returns the values of a deployment's variables. The service's variables override those of its groups. Throws an error
 * that names the variable: `source_invalid` if a reference cannot be resolved, `forbidden` if `authorize` refuses a
 * value from a protected environment, and `payload_too_large` if the variables are too large.
 */
export async function resolveVariables(
  trx: Transaction,
  deps: CommandDeps,
  input: ResolveInput,
): Promise<ResolvedVariables> {
  return new Resolver(trx, deps, input).resolve();
}

class Resolver {
  readonly #trx: Transaction;
  readonly #deps: CommandDeps;
  readonly #input: ResolveInput;
  readonly #followed = new Map<string, Referred | undefined>();
  readonly #providers = new Set<string>();
  readonly #groups = new Set<string>();
  #readProtected = false;

  constructor(trx: Transaction, deps: CommandDeps, input: ResolveInput) {
    this.#trx = trx;
    this.#deps = deps;
    this.#input = input;
  }

  async resolve(): Promise<ResolvedVariables> {
    const { serviceId: id, scope } = this.#input.variables;
    const { count, bytes: own } = await sizeReaching(this.#trx, id, scope);
    if (count > MAX_REACHING) throw tooMany(count);
    if (own > VARIABLES_BYTES) throw tooLarge('variables', own);
    const values: Record<string, string> = {};
    const dataReferences: Record<string, DataReference> = {};
    let bytes = 0;
    for (const variable of await variablesReaching(this.#trx, id, scope)) {
      const value = await this.#valueOf(variable, [`${id}/${variable.key}`]);
      bytes += Buffer.byteLength(variable.key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0);
      if (bytes > VARIABLES_BYTES) throw tooLarge(`variables.${variable.key}`, bytes);
      if (typeof value === 'string') values[variable.key] = value;
      else dataReferences[variable.key] = value;
    }
    return {
      values,
      dataReferences,
      providerIds: [...this.#providers].sort(),
      groupIds: [...this.#groups].sort(),
      readProtected: this.#readProtected,
    };
  }

  /**
   * Returns the value of a variable, or a `DataReference` for the address or login of a database. `path` is the chain
   * of references that led to the variable. The last item stands for the variable itself: `<service id>/<key>`.
   */
  async #valueOf(variable: VariableSource, path: readonly string[]): Promise<string | DataReference> {
    const { group_id, group_name, group_protected } = variable;
    if (group_id !== null) this.#groups.add(group_id);
    if (group_protected) {
      this.#assertPermitted(
        path,
        `it is ${variable.key} of the environment group "${group_name}", which reaches a protected environment`,
      );
    }
    if (variable.sealed) return this.#open(variable.sealed, variable.id, path);
    const { reference_service_id: providerId, reference_key: key } = variable;
    if (providerId === null || key === null) throw invalid(path, 'it has neither a value nor a reference');
    return this.#follow(providerId, key, path);
  }

  /** Throws if unsealing fails, because a deployment must not run with a missing value. */
  #open(sealed: Buffer, id: string, path: readonly string[]): string {
    try {
      return openFrom(this.#deps.keyring, SEALED.variable, id, sealed);
    } catch (error) {
      if (error instanceof SealError) throw invalid(path, `its value cannot be opened: ${error.message}`);
      throw error;
    }
  }

  async #follow(providerId: string, key: string, path: readonly string[]): Promise<string | DataReference> {
    const step = `${providerId}/${key}`;
    if (path.includes(step)) throw invalid(path, `the references of ${key} go in a circle`);
    if (path.length > MAX_STEPS) throw invalid(path, `it is a reference to a reference, more than ${MAX_STEPS} times`);
    const referred = await this.#referred(providerId, key);
    if (!referred) throw invalid(path, 'the service it refers to does not exist');
    const { provider, variable } = referred;
    if (provider.archived) throw invalid(path, `the service "${provider.name}" it refers to is archived`);
    this.#providers.add(provider.id);
    if (provider.protected_environment !== null) {
      this.#assertPermitted(
        path,
        `it refers to ${key} of the service "${provider.name}", which is in the protected environment "${provider.protected_environment}"`,
      );
    }
    if (variable) return this.#valueOf(variable, [...path, step]);
    const kind = provider.kind as ServiceKind;
    if (isDataKind(kind) && OFFERED_KEYS[kind].includes(key)) return { serviceId: provider.id, key };
    const offered = isDataKind(kind) ? undefined : this.#offer(provider, key);
    if (offered === undefined) throw invalid(path, `the service "${provider.name}" has no variable ${key}`);
    return offered;
  }

  async #referred(providerId: string, key: string): Promise<Referred | undefined> {
    const step = `${providerId}/${key}`;
    if (!this.#followed.has(step)) {
      this.#followed.set(
        step,
        await findReferencedVariable(this.#trx, {
          workspaceId: this.#input.service.workspace_id,
          serviceId: providerId,
          key,
          scope: this.#input.variables.scope,
        }),
      );
    }
    return this.#followed.get(step);
  }

  #assertPermitted(path: readonly string[], why: string): void {
    this.#readProtected = true;
    try {
      this.#input.authorize({ protectedEnvironment: true });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const message = `${why}: only who may act there can deploy with it`;
      throw new AppError(error.code, `Variable ${keyOf(path)} cannot be read: ${message}`, [
        { path: `variables.${keyOf(path)}`, message },
      ]);
    }
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

function keyOf(path: readonly string[]): string {
  return path[0]?.split('/')[1] ?? '';
}

function invalid(path: readonly string[], message: string): AppError {
  const variable = keyOf(path);
  return new AppError('source_invalid', `Variable ${variable} cannot be resolved: ${message}`, [
    { path: `variables.${variable}`, message },
  ]);
}

function tooMany(count: number): AppError {
  const message = `there are ${count} with those of the groups, and ${MAX_REACHING} are allowed; delete or unlink some`;
  return new AppError('payload_too_large', `The variables are too many: ${message}`, [{ path: 'variables', message }]);
}

function tooLarge(path: string, bytes: number): AppError {
  const message =
    `the variables of the service, with those of its groups and references, have at least ${bytes} bytes together, ` +
    `and ${VARIABLES_BYTES} are allowed; shorten or delete some, or put large contents into the repository`;
  return new AppError('payload_too_large', `The variables are too large: ${message}`, [{ path, message }]);
}
