import type { SessionWithUser } from '../../../shared/identity/session-store.js';
import { type OwnWorkspaceRow, workspacesOf } from '../../../shared/identity/store.js';
import { newToken } from '../../../shared/secrets/random-token.js';
import { sessionOf } from '../../auth/authenticate.js';
import { clearCookie, readCookie, writeCookie } from '../../auth/cookies.js';
import type { ApiDeps } from '../../http/api-deps.js';
import { present } from '../../http/present.js';
import type { ApiContext } from '../../http/request-state.js';
import { presentWorkspace, readUsage } from '../workspaces/present.js';
import { START_PATH } from './provider/paths.js';
import { type BootstrapPresentation, UserSchema } from './schema.js';

/** Returns the session's user, their workspaces, and the CSRF token for writes. */
export async function bootstrap(deps: ApiDeps, ctx: ApiContext): Promise<BootstrapPresentation> {
  const token = readCookie(ctx, 'session');
  const known = token === null ? null : await bootstrapOf(deps, ctx, token);
  if (known) return known;
  if (token !== null) clearCookie(ctx, 'session');
  return {
    csrfToken: deps.csrf.tokenFor(visitorOf(ctx)),
    user: null,
    workspaces: [],
    closedWorkspaces: [],
    provider: presentProvider(deps.config),
  };
}

/** Builds the bootstrap response for a session's token; null if the session has ended. */
export async function bootstrapOf(
  deps: ApiDeps,
  ctx: ApiContext,
  token: string,
): Promise<BootstrapPresentation | null> {
  const { db, csrf, config } = deps;
  const session = await sessionOf(deps, ctx, token);
  if (!session) return null;
  const all = await workspacesOf(db, session.user_id);
  const isClosed = ({ needs_provider }: OwnWorkspaceRow) => needs_provider && session.by_password;
  return {
    csrfToken: csrf.tokenFor(token),
    user: presentUser(session),
    workspaces: await Promise.all(
      all
        .filter((row) => !isClosed(row))
        .map(async (row) => presentWorkspace(row, row.role, await readUsage(db, row.id))),
    ),
    closedWorkspaces: all.filter(isClosed).map(({ id, name }) => ({ id, name })),
    provider: presentProvider(config),
  };
}

/**
 * The provider redirects the browser back to PUBLIC_URL. So the sign-in must start there too: it sets a cookie that the
 * browser sends only to the same host.
 */
function presentProvider({ oidc, publicUrl }: ApiDeps['config']): BootstrapPresentation['provider'] {
  return oidc && { name: oidc.name, url: publicUrl + START_PATH };
}

function presentUser(session: SessionWithUser) {
  return present(UserSchema, session, {
    id: session.user_id,
    emailVerified: session.email_verified_at !== null,
    mfaEnabled: session.totp_confirmed_at !== null,
    mfaVerified: session.second_factor,
  });
}

function visitorOf(ctx: ApiContext): string {
  const known = readCookie(ctx, 'visitor');
  if (known !== null) return known;
  const { token } = newToken();
  writeCookie(ctx, 'visitor', token);
  return token;
}
