import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict, invalidRequest } from '../core/error-registry.js';
import { shareLockEnvironment } from '../environments/store.js';
import { lockServiceView } from '../services/store.js';
import { assertRoomFor } from '../workspaces/workspace-limits.js';
import {
  deleteLink,
  type EnvironmentGroupView,
  insertGroup,
  insertLink,
  lockLinkedServices,
  updateGroupRow,
} from './store.js';

type Authorize = (facts: { protectedEnvironment: boolean }) => void;

export interface CreateGroupInput {
  workspaceId: string;
  name: string;
  /** The environment to which the group is restricted; null if all services of the workspace can use it. */
  environmentId: string | null;
  authorize: Authorize;
}

/** Creates an environment group and returns its id. Throws invalid_request, forbidden, capacity_exceeded. */
export async function createGroup(
  trx: Transaction,
  { workspaceId, name, environmentId, authorize }: CreateGroupInput,
): Promise<string> {
  const scope = await shareLockScope(trx, workspaceId, environmentId, authorize);
  await assertRoomFor(trx, 'groups', workspaceId);
  return insertGroup(trx, { workspaceId, environmentId: scope, name: name.trim() });
}

export interface UpdateGroupInput {
  /** The caller must have locked the group. */
  group: EnvironmentGroupView;
  name?: string | undefined;
  environmentId?: string | null | undefined;
  authorize: Authorize;
}

/**
 * Renames a group, or changes the environment to which it is restricted. All linked services must be in that
 * environment. Throws invalid_request, forbidden, conflict.
 */
export async function updateGroup(
  trx: Transaction,
  { group, name = group.name, environmentId = group.environment_id, authorize }: UpdateGroupInput,
): Promise<void> {
  const scope = await shareLockScope(trx, group.workspace_id, environmentId, authorize);
  if (scope !== null) await assertLinksWithin(trx, group, scope);
  await updateGroupRow(trx, group.id, { name: name.trim(), environment_id: scope });
}

export interface LinkInput {
  /** The caller must have locked the group. */
  group: EnvironmentGroupView;
  serviceId: string;
  /**
   * Position of this link among the links created in one transaction, counted from 0. If two groups have a variable of
   * the same name, the value from the group that was linked later is used.
   */
  position?: number;
  authorize: Authorize;
}

/**
 * Links a service to a group, whose variables the service's next deployment gets. A second link changes nothing. Throws
 * forbidden; invalid_request if the workspace has no such service; conflict if the group is restricted to another
 * environment.
 */
export async function linkService(
  trx: Transaction,
  { group, serviceId, authorize, position = 0 }: LinkInput,
): Promise<void> {
  const service = await lockServiceView(trx, group.workspace_id, serviceId);
  if (!service) {
    throw invalidRequest('/serviceId', 'is not a service of this workspace');
  }
  authorize({ protectedEnvironment: service.environment_protected });
  if (service.lifecycle_status === 'deleting') throw conflict('The service is being deleted');
  if (group.environment_id !== null && group.environment_id !== service.environment_id) {
    throw conflict(
      `The environment group "${group.name}" is confined to an environment that "${service.name}" is not in`,
    );
  }
  await insertLink(trx, group.id, service.id, position);
}

/** Unlinks a service from a group. Throws forbidden; not_found if there is no link. */
export async function unlinkService(trx: Transaction, { group, serviceId, authorize }: LinkInput): Promise<void> {
  const service = await lockServiceView(trx, group.workspace_id, serviceId);
  if (!service) throw new AppError('not_found');
  authorize({ protectedEnvironment: service.environment_protected });
  if (!(await deleteLink(trx, group.id, service.id))) throw new AppError('not_found');
}

/** Returns the environment to which a group is restricted, with a shared lock; null if unrestricted. */
async function shareLockScope(
  trx: Transaction,
  workspaceId: string,
  environmentId: string | null,
  authorize: Authorize,
): Promise<string | null> {
  if (environmentId === null) return null;
  const environment = await shareLockEnvironment(trx, workspaceId, environmentId);
  if (!environment) {
    throw invalidRequest('/environmentId', 'is not an environment of this workspace');
  }
  authorize({ protectedEnvironment: environment.protected });
  return environment.id;
}

async function assertLinksWithin(trx: Transaction, group: EnvironmentGroupView, environmentId: string): Promise<void> {
  const linked = await lockLinkedServices(trx, group.id);
  const outside = linked.filter((service) => service.environment_id !== environmentId);
  if (outside.length === 0) return;
  const names = outside.map(({ name }) => `"${name}"`).join(', ');
  throw conflict(`The group is linked to services of other environments; unlink them first: ${names}`);
}
