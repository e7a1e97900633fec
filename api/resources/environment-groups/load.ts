import { type EnvironmentGroupView, findGroupView, lockGroup } from '../../../shared/db/environment-groups.js';
import { AppError } from '../../../shared/errors.js';
import type { ReadRequest, WriteRequest } from '../../route.js';

type GroupPath = '/workspaces/:workspaceId/environment-groups/:groupId';

/** The group of the path. Throws not_found. */
export async function readGroup({
  db,
  params: { workspaceId, groupId },
}: Pick<ReadRequest<GroupPath>, 'db' | 'params'>): Promise<EnvironmentGroupView> {
  const group = await findGroupView(db, workspaceId, groupId);
  if (!group) throw new AppError('not_found');
  return group;
}

/** The group of the path, locked for a change of it: where it reaches into a protected environment that takes an admin. */
export async function loadGroup({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<GroupPath>, 'trx' | 'params' | 'authorize'>): Promise<EnvironmentGroupView> {
  await lockGroup(trx, params.workspaceId, params.groupId);
  const group = await readGroup({ db: trx, params });
  authorize({ protectedEnvironment: group.environment_protected });
  return group;
}
