import { findKeyWithOwner, touchKey } from '../../shared/db/access.js';
import { AppError } from '../../shared/errors.js';
import { matches, parseApiKey } from '../../shared/secrets/api-key.js';
import type { ApiDeps, Caller } from '../context.js';
import type { ApiMiddleware } from '../state.js';
import type { FailureLimit } from './rate-limit.js';

/** Finds out who sends the request; 401 where nobody proves to (specification, Authentication 1 and 4). */
export function authenticate(deps: ApiDeps, failures: FailureLimit): ApiMiddleware {
  return async (ctx, next) => {
    const caller = await bearer(deps, ctx.get('Authorization'));
    if (!caller) {
      await failures.count(ctx);
      throw new AppError('unauthenticated');
    }
    ctx.state.caller = caller;
    await next();
  };
}

/** The use of a key is noted once a minute, so that reading does not cost a write each time. */
const NOTED_MS = 60_000;

async function bearer({ db }: ApiDeps, header: string): Promise<Caller | null> {
  const [, token = ''] = /^bearer +(\S+)$/i.exec(header.trim()) ?? [];
  const parts = parseApiKey(token);
  const key = parts ? await findKeyWithOwner(db, parts.lookup) : undefined;
  if (!parts || !key || !matches(parts.secret, key.secret_hash)) return null;
  if (key.revoked_at || (key.expires_at && key.expires_at.getTime() <= Date.now())) return null;
  if (Date.now() - (key.last_used_at?.getTime() ?? 0) > NOTED_MS) await touchKey(db, key.id);
  return {
    kind: 'key',
    credentialId: key.id,
    userId: key.user_id,
    email: key.email,
    emailVerified: key.email_verified_at !== null,
    secondFactor: false,
    scope: key.scope,
    workspaceId: key.workspace_id,
  };
}
