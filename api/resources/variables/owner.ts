import type { VariableOwner } from '../../../shared/db/variables.js';
import type { ReadRequest, WriteRequest } from '../../route.js';
import { loadGroup, readGroup } from '../environment-groups/load.js';
import { loadService, readService } from '../services/load.js';

/** Where variables are: at a service or at an environment group. */
export type VariablesPath =
  | '/workspaces/:workspaceId/services/:serviceId/variables'
  | '/workspaces/:workspaceId/environment-groups/:groupId/variables';

/** Whose variables the path names. Throws not_found. */
export async function readOwner({
  db,
  params,
}: Pick<ReadRequest<VariablesPath>, 'db' | 'params'>): Promise<VariableOwner> {
  if ('serviceId' in params) return { serviceId: (await readService({ db, params })).id };
  return { groupId: (await readGroup({ db, params })).id };
}

/** The same, for a change of its variables: in a protected environment that takes an admin. */
export async function loadOwner({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<VariablesPath>, 'trx' | 'params' | 'authorize'>): Promise<VariableOwner> {
  if ('serviceId' in params) return { serviceId: (await loadService({ trx, params, authorize })).id };
  return { groupId: (await loadGroup({ trx, params, authorize })).id };
}
