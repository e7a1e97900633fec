import { type Static, Type } from 'typebox';
import { hasRole, KEY_SCOPES } from '../../../shared/identity/policy.js';
import { type ApiKeyView, pageOfApiKeys, revokeWorkspaceKey } from '../../../shared/identity/store.js';
import { keyPrefix } from '../../../shared/secrets/api-key.js';
import { deleted } from '../../http/assertions.js';
import { pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute, type ReadRequest } from '../../http/route.js';
import {
  DeletedResponse,
  MAX_DATE_TIME_LENGTH,
  Name,
  Nullable,
  oneOf,
  PageQuery,
  PageSchema,
  Strict,
  Timestamp,
  Uuid,
} from '../../http/schema.js';
import { createOwnKey } from './commands.js';

const ApiKeySchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    scope: oneOf('KeyScope', KEY_SCOPES),
    /** The first part of the key, which identifies it and is not secret. */
    prefix: Type.String(),
    /** The member on whose behalf the key acts. */
    email: Type.String(),
    createdAt: Timestamp,
    expiresAt: Nullable(Timestamp),
    /** When the key was last used; recorded at most once a minute. */
    lastUsedAt: Nullable(Timestamp),
  },
  'ApiKey',
);
export type ApiKeyPresentation = Static<typeof ApiKeySchema>;

function presentApiKey(row: ApiKeyView) {
  return present(ApiKeySchema, row, { prefix: keyPrefix(row.lookup) });
}

const ApiKeyListResponse = Strict({ keys: Type.Array(ApiKeySchema), page: PageSchema });
const CreateApiKeyBody = Strict({
  name: Name,
  scope: oneOf('KeyScope', KEY_SCOPES),
  expiresAt: Type.Optional(Nullable(Type.String({ format: 'date-time', maxLength: MAX_DATE_TIME_LENGTH }))),
});
/** `secret` is the complete key. No other response contains it. */
const CreatedApiKeyResponse = Strict({ key: ApiKeySchema, secret: Type.String() });

const COLLECTION = '/workspaces/:workspaceId/keys';

export const keyRoutes = [
  defineRoute('GET', COLLECTION, 'key.list', {
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
  defineRoute('POST', COLLECTION, 'key.create', {
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
  defineRoute('DELETE', `${COLLECTION}/:keyId`, 'key.delete', {
    summary: 'Revoke a key',
    description: 'Revokes an API key permanently. An admin can revoke all keys, other members can revoke their own.',
    response: DeletedResponse,
    handler: async (request) => {
      const { workspaceId, keyId: id } = request.params;
      return deleted(await revokeWorkspaceKey(request.trx, { workspaceId, id, userId: ownerSeen(request) }));
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
