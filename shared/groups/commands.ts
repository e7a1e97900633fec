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

/** Renames a group, or restricts it to an environment. Throws invalid_request, forbidden, conflict. */
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
  /** Position among the links created in one transaction. The variables of the later link take precedence. */
  position?: number;
  authorize: Authorize;
}

/**
 * Links a service to a group. A second call with the same service changes nothing. Throws forbidden, invalid_request if
 * the service does not exist, and conflict if the group is restricted to another environment.
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

/** Unlinks a service from a group. Throws forbidden, and not_found if there is no such link. */
export async function unlinkService(trx: Transaction, { group, serviceId, authorize }: LinkInput): Promise<void> {
  const service = await lockServiceView(trx, group.workspace_id, serviceId);
  if (!service) throw new AppError('not_found');
  authorize({ protectedEnvironment: service.environment_protected });
  if (!(await deleteLink(trx, group.id, service.id))) throw new AppError('not_found');
}

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
