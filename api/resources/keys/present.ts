import type { ApiKeyView } from '../../../shared/identity/store.js';
import { keyPrefix } from '../../../shared/secrets/api-key.js';
import type { ApiKeyPresentation } from './schema.js';

export function presentApiKey(row: ApiKeyView): ApiKeyPresentation {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope,
    prefix: keyPrefix(row.lookup),
    email: row.email,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
  };
}
