import { workspacesOf } from '../../../shared/db/identity.js';
import { findSession } from '../../../shared/db/sessions.js';
import { hashToken, newToken } from '../../../shared/secrets/token.js';
import type { ApiDeps } from '../../context.js';
import { clearCookie, readCookie, writeCookie } from '../../cookies.js';
import type { ApiContext } from '../../state.js';
import { readUsage } from '../workspaces/load.js';
import { presentWorkspace } from '../workspaces/present.js';
import { presentUser } from './present.js';
import type { BootstrapPresentation } from './schema.js';

/** What a page begins with: who is signed in by the cookie of this request, his workspaces, and the token for his writes. */
export async function bootstrap(deps: ApiDeps, ctx: ApiContext): Promise<BootstrapPresentation> {
  const token = readCookie(ctx, 'session');
  const known = token === null ? null : await bootstrapOf(deps, token);
  if (known) return known;
  if (token !== null) clearCookie(ctx, 'session');
  return { csrfToken: deps.csrf.tokenFor(visitorOf(ctx)), user: null, workspaces: [] };
}

/** The same for a session's token; null where it has ended. */
export async function bootstrapOf({ db, csrf }: ApiDeps, token: string): Promise<BootstrapPresentation | null> {
  const session = await findSession(db, hashToken(token));
  if (!session) return null;
  const workspaces = await workspacesOf(db, session.user_id);
  return {
    csrfToken: csrf.tokenFor(token),
    user: presentUser(session),
    workspaces: await Promise.all(
      workspaces.map(async (row) => presentWorkspace(row, row.role, await readUsage(db, row.id))),
    ),
  };
}

function visitorOf(ctx: ApiContext): string {
  const known = readCookie(ctx, 'visitor');
  if (known !== null) return known;
  const { token } = newToken();
  writeCookie(ctx, 'visitor', token);
  return token;
}
