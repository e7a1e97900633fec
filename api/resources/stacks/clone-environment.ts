import { stringify } from 'yaml';
import { latestBackups } from '../../../shared/backups/store.js';
import type { Config } from '../../../shared/core/config.js';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { conflict, invalidRequest } from '../../../shared/core/error-registry.js';
import type { EnvironmentRow } from '../../../shared/environments/store.js';
import { findEnvironment } from '../../../shared/environments/store.js';
import type { Keyring } from '../../../shared/secrets/keyring.js';
import { isDataKind } from '../../../shared/services/model.js';
import { type ApplyRequest, acceptApply } from '../../../shared/stacks/accept-apply.js';
import type { Fill } from '../../../shared/stacks/arrange-fills.js';
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
  /** The new environment, which must be empty. */
  environment: EnvironmentRow;
  cloneFrom: string;
  data?: 'none' | 'latestBackup' | undefined;
  values?: Record<string, string> | undefined;
  deploy?: boolean | undefined;
}

/**
 * Clones an environment by applying its document to the new environment (design, section 9). Throws invalid_request if
 * `cloneFrom` is not another environment of the workspace. Throws conflict if names are not unique, or if data is to be
 * copied and has no verified backup. Also throws forbidden, and the errors of `acceptApply`.
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
  const fills = data === 'latestBackup' ? await fillsOf(trx, state) : [];
  const { document, warnings } = cloneDocument(state, await wishesOf(trx, deps.keyring, state));
  const name = await freeName(trx, workspaceId, environment.name);
  const id = await acceptApply(trx, deps, {
    ...{ workspaceId, name, document: stringify(document), environmentId: environment.id, values },
    ...{ planHash: null, confirmDestructive: undefined, deploy, fills, ...asked },
  });
  const stack = found(await findStack(trx, workspaceId, name));
  return { stack: name, apply: presentApply(found(await findApply(trx, stack.id, id))), warnings };
}

async function fillsOf(trx: Transaction, { services }: EnvironmentState): Promise<Fill[]> {
  const full = services.filter(({ kind, volumes }) => isDataKind(kind) || volumes.length > 0);
  const ids = full.map(({ id }) => id);
  const backups = new Map((await latestBackups(trx, ids)).map((backup) => [backup.service_id, backup.id]));
  const without = full.filter(({ id }) => !backups.has(id)).map(({ name }) => name);
  if (without.length > 0) {
    throw conflict(
      `There is no verified backup with all data of ${without.join(', ')}: make one (POST …/services/{id}/backups), or clone with "data": "none"`,
    );
  }
  return full.map(({ id, name, kind }) => {
    return { service: name, isDatabase: isDataKind(kind), from: id, backupId: backups.get(id) ?? '' };
  });
}

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

/** Maximum length of a stack's name before a suffix such as `-2` is added. The whole name may have 63 characters. */
const MAX_BASE_LENGTH = 50;

async function freeName(trx: Transaction, workspaceId: string, environment: string): Promise<string> {
  const base = labelOf(environment.slice(0, MAX_BASE_LENGTH)) || 'clone';
  let name = base;
  for (let suffix = 2; (await findStack(trx, workspaceId, name)) !== undefined; suffix += 1) name = `${base}-${suffix}`;
  return name;
}
