import { assertNoPreview } from '../../../shared/pulls/preview-commands.js';
import type { VariableOwner } from '../../../shared/variables/store.js';
import type { ReadRequest, WriteRequest } from '../../http/route.js';
import { lockGroup, readGroup } from '../environment-groups/find-group.js';
import { lockService, readService } from '../services/find-service.js';

export type VariablesPath =
  | '/workspaces/:workspaceId/services/:serviceId/variables'
  | '/workspaces/:workspaceId/environment-groups/:groupId/variables';

export async function readOwner({
  db,
  params,
}: Pick<ReadRequest<VariablesPath>, 'db' | 'params'>): Promise<VariableOwner> {
  if ('serviceId' in params) return { serviceId: (await readService({ db, params })).id };
  return { groupId: (await readGroup({ db, params })).id };
}

/**
 * Returns and locks the service or group in the path, which owns the variables. Throws not_found, forbidden if
 * `authorize` refuses its environment, and conflict for a preview.
 */
export async function lockOwner({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<VariablesPath>, 'trx' | 'params' | 'authorize'>): Promise<VariableOwner> {
  if ('serviceId' in params) {
    const service = await lockService({ trx, params, authorize });
    assertNoPreview(service, 'the variables');
    return { serviceId: service.id };
  }
  return { groupId: (await lockGroup({ trx, params, authorize })).id };
}
