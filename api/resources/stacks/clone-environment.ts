import { stringify } from 'yaml';
import type { Config } from '../../../shared/core/config.js';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { conflict, invalidRequest } from '../../../shared/core/error-registry.js';
import type { EnvironmentRow } from '../../../shared/environments/store.js';
import { findEnvironment } from '../../../shared/environments/store.js';
import type { Keyring } from '../../../shared/secrets/keyring.js';
import { isDataKind } from '../../../shared/services/model.js';
import { type ApplyRequest, acceptApply } from '../../../shared/stacks/accept-apply.js';
import type { EnvironmentState } from '../../../shared/stacks/environment-state.js';
import { readEnvironmentState } from '../../../shared/stacks/environment-store.js';
import { labelOf } from '../../../shared/stacks/label.js';
import { findStack } from '../../../shared/stacks/store.js';
import type { StackWish } from '../../../shared/stacks/wish.js';
import { found } from '../../http/assertions.js';
import { cloneDocument } from './clone-document.js';
import { presentApply } from './present.js';
import { openWish } from './read-drift.js';
import type { ApplyPresentation } from './schema.js';
import { findApply, getStacks } from './store.js';

export interface CloneRequest extends Pick<ApplyRequest, 'actor' | 'authorize' | 'needEngine'> {
  /** The new environment, which is empty. */
  environment: EnvironmentRow;
  cloneFrom: string;
  data?: 'none' | 'latestBackup' | undefined;
  values?: Record<string, string> | undefined;
  deploy?: boolean | undefined;
}

/**
 * Makes a new environment a copy of another one, by an apply of its document (design, section 9).
 * The copies belong to a stack. Throws forbidden if the other one is protected and the caller may not read it, conflict
 * if names are not unique, and what `acceptApply` throws: invalid_request for a secret without a value.
 */
export async function cloneEnvironment(
  trx: Transaction,
  deps: { keyring: Keyring; config: Config },
  { environment, cloneFrom, data = 'none', values = {}, deploy = false, ...asked }: CloneRequest,
): Promise<{ stack: string; apply: ApplyPresentation; warnings: string[] }> {
  const { workspace_id: workspaceId } = environment;
  const source = await findEnvironment(trx, workspaceId, cloneFrom.toLowerCase());
  if (source === undefined || source.id === environment.id) {
    throw invalidRequest('/cloneFrom', 'is not an environment of this workspace');
  }
  asked.authorize({ protectedEnvironment: source.protected });
  const state = await readEnvironmentState(trx, deps.keyring, { workspaceId, environmentId: source.id });
  if (data === 'latestBackup') assertNoData(state);
  const { document, warnings } = cloneDocument(state, await wishesOf(trx, deps.keyring, state));
  const name = await freeName(trx, workspaceId, environment.name);
  const id = await acceptApply(trx, deps, {
    ...{ workspaceId, name, document: stringify(document), environmentId: environment.id, values },
    ...{ planHash: null, confirmDestructive: undefined, deploy, ...asked },
  });
  const stack = found(await findStack(trx, workspaceId, name));
  return { stack: name, apply: presentApply(found(await findApply(trx, stack.id, id))), warnings };
}

/** Backups are restored into the service that they are of, so that a copy begins without data. */
function assertNoData({ services }: EnvironmentState): void {
  const full = services.filter(({ kind, volumes }) => isDataKind(kind) || volumes.length > 0).map(({ name }) => name);
  if (full.length === 0) return;
  throw conflict(
    `A backup cannot be restored into a copy of its service yet (${full.join(', ')}): clone with "data": "none", and copy the data by a dump`,
  );
}

/** Reads the documents of the stacks that own something of an environment. */
async function wishesOf(
  trx: Transaction,
  keyring: Keyring,
  { services, groups }: EnvironmentState,
): Promise<Map<string, StackWish>> {
  const owners = [...services, ...groups].flatMap(({ owner }) => (owner === null ? [] : [owner.stackId]));
  const wishes = new Map<string, StackWish>();
  for (const stack of await getStacks(trx, [...new Set(owners)])) {
    const wish = openWish(keyring, stack);
    if (wish !== null) wishes.set(stack.id, wish);
  }
  return wishes;
}

/** Leaves room for a suffix in the 63 characters of a stack's name. */
const MAX_BASE_LENGTH = 50;

/** Makes the name of a stack from that of the environment, with a suffix if there is one of this name. */
async function freeName(trx: Transaction, workspaceId: string, environment: string): Promise<string> {
  const base = labelOf(environment.slice(0, MAX_BASE_LENGTH)) || 'clone';
  let name = base;
  for (let suffix = 2; (await findStack(trx, workspaceId, name)) !== undefined; suffix += 1) name = `${base}-${suffix}`;
  return name;
}
