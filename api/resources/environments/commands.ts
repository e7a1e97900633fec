import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, invalidRequest } from '../../../shared/core/error-registry.js';
import type { EnvironmentRow } from '../../../shared/environments/store.js';
import { assertRoomFor } from '../../../shared/workspaces/workspace-limits.js';
import { found } from '../../http/assertions.js';
import { prepareRemoval } from '../projects/place-contents.js';
import { lockProject } from '../projects/store.js';
import type { CreateEnvironmentBody } from './schema.js';
import { countEnvironments, insertEnvironment, isNameTaken, lockEnvironment, type NewEnvironment } from './store.js';

type Authorize = (facts: { protectedEnvironment: boolean }) => void;

/**
 * Adds an environment to a project. Throws not_found, forbidden or capacity_exceeded, and conflict if the name is
 * taken.
 */
export async function createEnvironment(
  trx: Transaction,
  { authorize, ...input }: NewEnvironment & { authorize: Authorize },
): Promise<EnvironmentRow> {
  if (!(await lockProject(trx, input.workspaceId, input.projectId))) throw new AppError('not_found');
  authorize({ protectedEnvironment: input.protected });
  await assertRoomFor(trx, 'environments', input.projectId);
  const name = input.name.trim();
  const row = await insertEnvironment(trx, { ...input, name });
  if (!row) throw nameTaken(name);
  return row;
}

/** Throws invalid_request if the body contains options that apply only to a clone. */
export function assertNoClone(options: Pick<CreateEnvironmentBody, 'data' | 'values' | 'deploy'>): void {
  const [option] = Object.entries(options).filter(([, value]) => value !== undefined);
  if (option !== undefined) throw invalidRequest(`/${option[0]}`, 'is only for a clone: give cloneFrom too');
}

export interface EnvironmentInput {
  workspaceId: string;
  projectId: string;
  environmentId: string;
  authorize: Authorize;
}

/**
 * Renames an environment, protects it or removes its protection. Throws not_found or forbidden, and conflict if the
 * name is taken.
 */
export async function updateEnvironment(
  trx: Transaction,
  { changes, ...input }: EnvironmentInput & { changes: Partial<Pick<EnvironmentRow, 'name' | 'protected'>> },
): Promise<EnvironmentRow> {
  const environment = await lock(trx, input);
  input.authorize({ protectedEnvironment: environment.protected || changes.protected === true });
  const name = changes.name?.trim() ?? environment.name;
  if (await isNameTaken(trx, environment, name)) throw nameTaken(name);
  const [row] = await trx<EnvironmentRow>('environments')
    .where({ id: environment.id })
    .update({ name, protected: changes.protected ?? environment.protected, updated_at: trx.fn.now() })
    .returning('*');
  return found(row);
}

/**
 * Deletes an environment. Throws not_found or forbidden, and conflict if it is not empty or is the last one of its
 * project.
 */
export async function deleteEnvironment(trx: Transaction, input: EnvironmentInput): Promise<void> {
  const environment = await lock(trx, input);
  input.authorize({ protectedEnvironment: environment.protected });
  if ((await countEnvironments(trx, environment.project_id)) === 1) {
    throw new AppError('conflict', `"${environment.name}" is the last environment of its project, which needs one`);
  }
  await prepareRemoval(trx, `The environment "${environment.name}"`, { environmentId: environment.id });
  await trx<EnvironmentRow>('environments').where({ id: environment.id }).delete();
}

async function lock(trx: Transaction, { workspaceId, projectId, environmentId }: EnvironmentInput) {
  const environment = await lockEnvironment(trx, workspaceId, environmentId);
  if (environment?.project_id !== projectId) throw new AppError('not_found');
  await lockProject(trx, workspaceId, projectId);
  return environment;
}

function nameTaken(name: string): AppError {
  return new AppError('conflict', `The project has an environment named "${name}" already`);
}
