import { validate as isUuid } from 'uuid';
import { AppError } from '../../shared/core/error-registry.js';
import { findSession, recordSessionUse, type SessionWithUser } from '../../shared/identity/session-store.js';
import { recordKeyUse } from '../../shared/identity/store.js';
import { matches, parseApiKey } from '../../shared/secrets/api-key.js';
import { hashToken } from '../../shared/secrets/random-token.js';
import type { ApiDeps, Caller } from '../http/api-deps.js';
import { clientOf } from '../http/client-identity.js';
import type { FailureLimit } from '../http/rate-limit.js';
import type { ApiContext, ApiStep } from '../http/request-state.js';
import { findKeyAccess, type KeyAccess, type PathIds } from './access-store.js';
import { readCookie } from './cookies.js';

/**
 * Identifies the caller, or responds with 401 (specification, Authentication 1 and 4). A key in the request takes
 * precedence over a session, even if the key is invalid.
 */
export function authenticate(deps: ApiDeps, failures: FailureLimit, accepted: 'session' | 'key or session'): ApiStep {
  return async (ctx) => {
    const header = accepted === 'session' ? '' : ctx.get('Authorization');
    const caller = header === '' ? await sessionCaller(deps, ctx) : await bearer(deps, ctx, header);
    if (!caller) {
      await failures.count(ctx);
      throw new AppError('unauthenticated');
    }
    ctx.state.caller = caller;
  };
}

/** Minimum time between two updates of a session's last use, so that most requests cost no write. */
const NOTED_MS = 60_000;

async function bearer(deps: ApiDeps, ctx: ApiContext, header: string): Promise<Caller | null> {
  const known = await callerOfKey(deps, bearerToken(header), idsOf(ctx));
  if (known === null) return null;
  // Not checked yet: `authorize` decides whether the caller may access these records.
  ctx.state.found = known.found;
  return known.caller;
}

/** Returns the caller with this key, and the records with these ids; null for an invalid key. */
export async function callerOfKey(
  { db }: Pick<ApiDeps, 'db'>,
  token: string,
  ids: PathIds,
): Promise<{ caller: Caller; found: Omit<KeyAccess, 'key'> } | null> {
  const parts = parseApiKey(token);
  if (!parts) return null;
  const found = await findKeyAccess(db, parts.lookup, ids);
  if (!found || !matches(parts.secret, found.key.secret_hash) || !found.key.usable) return null;
  const { key, workspace, service } = found;
  if (key.use_due) await recordKeyUse(db, key.key_id);
  const caller: Caller = {
    kind: 'key',
    credentialId: key.key_id,
    userId: key.user_id,
    email: key.email,
    emailVerified: key.email_verified,
    secondFactor: key.second_factor,
    byPassword: false,
    scope: key.scope,
    workspaceId: key.key_workspace_id,
  };
  return { caller, found: { workspace, service } };
}

/**
 * Omits the service's id for a write whose route has no `direct`, because its handler reads the service under a lock.
 */
function idsOf({ params, state }: ApiContext): PathIds {
  const id = (value: string | undefined) => (value !== undefined && isUuid(value) ? value.toLowerCase() : null);
  const { route } = state;
  const readable = route.method === 'GET' || ('direct' in route && route.direct !== undefined);
  return { workspaceId: id(params.workspaceId), serviceId: readable ? id(params.serviceId) : null };
}

/** Returns the session with this token; null if it ended or, without TLS, belongs to another client. */
export async function sessionOf({ db }: ApiDeps, ctx: ApiContext, token: string): Promise<SessionWithUser | null> {
  return findSession(db, hashToken(token), ctx.state.tls ? null : await clientOf(ctx));
}

async function sessionCaller(deps: ApiDeps, ctx: ApiContext): Promise<Caller | null> {
  const { db } = deps;
  const token = readCookie(ctx, 'session');
  const session = token === null ? null : await sessionOf(deps, ctx, token);
  if (!session) return null;
  if (Date.now() - session.seen_at.getTime() > NOTED_MS) await recordSessionUse(db, session.id);
  return {
    kind: 'session',
    credentialId: session.id,
    userId: session.user_id,
    email: session.email,
    emailVerified: session.email_verified_at !== null,
    secondFactor: session.second_factor,
    byPassword: session.by_password,
    scope: 'write',
    workspaceId: null,
  };
}

const BEARER = /^bearer +(\S+)$/i;

/** Returns the token in an `Authorization: Bearer` header; '' if there is none. */
export function bearerToken(header: string): string {
  return BEARER.exec(header.trim())?.[1] ?? '';
}
