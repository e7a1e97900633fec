import { type EnvironmentGroupView, findGroupView, lockGroup as lockRow } from '../../../shared/groups/store.js';
import { found } from '../../http/assertions.js';
import type { ReadRequest, WriteRequest } from '../../http/route.js';

type GroupPath = '/workspaces/:workspaceId/environment-groups/:groupId';

/** Returns the environment group in the path. Throws not_found if it does not exist. */
export async function readGroup({
  db,
  params: { workspaceId, groupId },
}: Pick<ReadRequest<GroupPath>, 'db' | 'params'>): Promise<EnvironmentGroupView> {
  return found(await findGroupView(db, workspaceId, groupId));
}

/**
 * Returns and locks the group in the path. Throws not_found if it does not exist, and forbidden if `authorize` refuses
 * its environment.
 */
export async function lockGroup({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<GroupPath>, 'trx' | 'params' | 'authorize'>): Promise<EnvironmentGroupView> {
  await lockRow(trx, params.workspaceId, params.groupId);
  const group = await readGroup({ db: trx, params });
  authorize({ protectedEnvironment: group.environment_protected });
  return group;
}
