import { findKeyWithOwner, touchKey } from '../../shared/db/access.js';
import { findSession, touchSession } from '../../shared/db/sessions.js';
import { AppError } from '../../shared/errors.js';
import { matches, parseApiKey } from '../../shared/secrets/api-key.js';
import { hashToken } from '../../shared/secrets/token.js';
import type { ApiDeps, Caller } from '../context.js';
import { readCookie } from '../cookies.js';
import type { ApiContext, ApiMiddleware } from '../state.js';
import type { FailureLimit } from './rate-limit.js';

/**
 * Finds out who sends the request, by its key or else by its session; 401 where nobody proves to (specification,
 * Authentication 1 and 4). A key that is sent is what counts, also where it is wrong and there is a session.
 */
export function authenticate(deps: ApiDeps, failures: FailureLimit): ApiMiddleware {
  return async (ctx, next) => {
    const header = ctx.get('Authorization');
    const caller = header === '' ? await sessionCaller(deps, ctx) : await bearer(deps, header);
    if (!caller) {
      await failures.count(ctx);
      throw new AppError('unauthenticated');
    }
    ctx.state.caller = caller;
    await next();
  };
}

/** A use is noted once a minute, so that reading does not cost a write each time. */
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
    secondFactor: key.totp_confirmed_at !== null,
    scope: key.scope,
    workspaceId: key.workspace_id,
  };
}

/** Whoever the session cookie belongs to: a person with the rights of each of his memberships. Null without a session. */
export async function sessionCaller({ db }: ApiDeps, ctx: ApiContext): Promise<Caller | null> {
  const token = readCookie(ctx, 'session');
  const session = token === null ? undefined : await findSession(db, hashToken(token));
  if (!session) return null;
  if (Date.now() - session.seen_at.getTime() > NOTED_MS) await touchSession(db, session.id);
  return {
    kind: 'session',
    credentialId: session.id,
    userId: session.user_id,
    email: session.email,
    emailVerified: session.email_verified_at !== null,
    secondFactor: session.second_factor,
    scope: 'write',
    workspaceId: null,
  };
}
