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
    description:
      'The API keys that are not revoked, without their secrets. An admin sees all keys, other members see their own.',
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
    description: 'Creates an API key with the rights of the caller. No other answer contains the secret.',
    errors: ['capacity_exceeded'],
    body: CreateApiKeyBody,
    status: 201,
    response: CreatedApiKeyResponse,
    // Idempotency-Key is ignored, because the stored response would contain the secret.
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
    description: 'Revokes an API key permanently. An admin can revoke all keys, other members can revoke their own.',
    response: DeletedResponse,
    handler: async (request) => {
      const { workspaceId, keyId: id } = request.params;
      if (!(await revokeWorkspaceKey(request.trx, { workspaceId, id, userId: ownerSeen(request) })))
        throw new AppError('not_found');
      return { deleted: true } as const;
    },
  }),
];

/** Returns the caller's user id if the caller sees only their own API keys; null for an admin, who sees all. */
function ownerSeen({
  workspace,
  caller,
}: Pick<ReadRequest<'/workspaces/:workspaceId'>, 'workspace' | 'caller'>): string | null {
  return hasRole(workspace.role, 'admin') ? null : caller.userId;
}
