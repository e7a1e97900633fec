import { AppError } from '../../../shared/core/error-registry.js';
import { hasRole } from '../../../shared/identity/policy.js';
import { pageOfApiKeys, revokeWorkspaceKey } from '../../../shared/identity/store.js';
import { pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { defineRoute, type ReadRequest } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { createOwnKey } from './commands.js';
import { presentApiKey } from './present.js';
import { ApiKeyListResponse, CreateApiKeyBody, CreatedApiKeyResponse } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/keys';

export const keyRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'key.list',
    summary: 'List keys',
    description: 'The keys that are not revoked, without their secrets. An admin sees all, a member their own.',
    query: PageQuery,
    response: ApiKeyListResponse,
    handler: async (request) => {
      const { db, params } = request;
      const page = await pageOfApiKeys(db, params.workspaceId, ownerSeen(request), pageRequestOrComplete(request));
      return { keys: page.items.map(presentApiKey), page: presentPage(request, page) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'key.create',
    summary: 'Create a key',
    description: 'The key has the rights of the caller. Only this answer has the secret.',
    errors: ['capacity_exceeded'],
    body: CreateApiKeyBody,
    status: 201,
    response: CreatedApiKeyResponse,
    // A receipt would store the answer, which contains the secret.
    keyed: false,
    handler: async ({ trx, params, caller, body }) => {
      const { name, scope, expiresAt = null } = body;
      const { key, row } = await createOwnKey(trx, {
        workspaceId: params.workspaceId,
        userId: caller.userId,
        name,
        scope,
        expiresAt: expiresAt === null ? null : new Date(expiresAt),
      });
      return { key: presentApiKey({ ...row, email: caller.email }), secret: key };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: `${COLLECTION}/:keyId`,
    operation: 'key.delete',
    summary: 'Revoke a key',
    description: 'Revokes a key for good. An admin can revoke all, a member their own.',
    response: DeletedResponse,
    handler: async (request) => {
      const { workspaceId, keyId: id } = request.params;
      if (!(await revokeWorkspaceKey(request.trx, { workspaceId, id, userId: ownerSeen(request) })))
        throw new AppError('not_found');
      return { deleted: true } as const;
    },
  }),
];

/** Returns the member whose keys the caller may see and revoke; null for all members. */
function ownerSeen({
  workspace,
  caller,
}: Pick<ReadRequest<'/workspaces/:workspaceId'>, 'workspace' | 'caller'>): string | null {
  return hasRole(workspace.role, 'admin') ? null : caller.userId;
}
