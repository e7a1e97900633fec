import type { Config } from '../core/config.js';
import type { Db } from '../core/database/database-client.js';
import { conflict, invalidRequest } from '../core/error-registry.js';
import { platformNames } from '../domains/commands.js';
import { findEnvironment } from '../environments/store.js';
import type { Keyring } from '../secrets/keyring.js';
import { NO_VOLUMES, noWorkerMountsVolumes } from '../workers/store.js';
import { readEnvironmentState } from './environment-store.js';
import type { StackRow } from './model.js';
import type { PlannedStack } from './plan.js';
import { planStack } from './plan.js';
import { readDocument } from './read-document.js';
import { findStack } from './store.js';
import type { StackWish } from './wish.js';

export interface PlanRequest {
  workspaceId: string;
  name: string;
  document: string;
  warnings?: readonly string[];
  environmentId: string | undefined;
  values: Readonly<Record<string, string>>;
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

export interface PlannedDocument extends Omit<PlannedStack, 'problems'> {
  wish: StackWish;
  stack: StackRow | undefined;
  environmentId: string;
}

/**
 * Returns the changes that would make an environment match a document. Throws invalid_request with the line numbers of
 * faults, forbidden if the caller may not change a protected environment, owned_elsewhere if another stack owns a
 * resource, and conflict if the stack belongs to another environment.
 */
export async function planDocument(
  db: Db,
  { keyring, config }: { keyring: Keyring; config: Config },
  { workspaceId, name, document, warnings = [], environmentId: given, values, authorize }: PlanRequest,
): Promise<PlannedDocument> {
  const { wish, at } = readDocument(document, platformNames(config));
  const stack = await findStack(db, workspaceId, name);
  const environmentId = environmentOf(stack, given?.toLowerCase());
  const environment = await findEnvironment(db, workspaceId, environmentId);
  if (!environment) throw invalidRequest('/environmentId', 'is not an environment of this workspace');
  authorize({ protectedEnvironment: environment.protected });
  const state = await readEnvironmentState(db, keyring, { workspaceId, environmentId });
  const { problems, ...planned } = planStack({ stackId: stack?.id ?? null, wish, state, values });
  if (problems.length > 0) throw at(problems);
  planned.plan.warnings.push(...warnings);
  const makesVolumes = planned.plan.changes.some(({ kind, action }) => kind === 'volume' && action === 'create');
  if (makesVolumes && (await noWorkerMountsVolumes(db))) planned.plan.warnings.push(`An apply fails: ${NO_VOLUMES}`);
  return { ...planned, wish, stack, environmentId };
}

function environmentOf(stack: StackRow | undefined, given: string | undefined): string {
  if (stack === undefined) {
    if (given === undefined) throw invalidRequest('/environmentId', 'is needed for a new stack');
    return given;
  }
  if (given === undefined || given === stack.environment_id) return stack.environment_id;
  throw conflict(
    `The stack "${stack.name}" belongs to another environment: give the document of this one another name`,
  );
}
