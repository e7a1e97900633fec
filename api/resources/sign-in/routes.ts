import { defineRoute } from '../../http/route.js';
import { updateSignIn } from './commands.js';
import { SignInSettingsBody, SignInSettingsResponse } from './schema.js';
import { findSignInSettings } from './settings-store.js';

const PATH = '/workspaces/:workspaceId/sign-in';

/** Settings that decide who becomes a member of a workspace by signing in with the OpenID Connect provider. */
export const signInRoutes = [
  defineRoute({
    method: 'GET',
    path: PATH,
    operation: 'sign-in.read',
    summary: 'Read the sign-in settings',
    description: 'Who becomes a member by signing in with the provider, and whether passwords reach the workspace.',
    response: SignInSettingsResponse,
    handler: async ({ db, params }) => ({ signIn: await findSignInSettings(db, params.workspaceId) }),
  }),
  defineRoute({
    method: 'PUT',
    path: PATH,
    operation: 'sign-in.update',
    summary: 'Replace the sign-in settings',
    description:
      'Replaces all of them. A domain must be that of a verified address of an owner, and only a session that began with the provider can close the workspace to passwords.',
    errors: ['conflict'],
    body: SignInSettingsBody,
    example: { allowedDomains: ['example.com'], role: 'developer', passwords: true },
    response: SignInSettingsResponse,
    handler: async ({ trx, deps, params, caller, body }) => {
      const settings = { roleClaim: null, roles: {}, ...body };
      await updateSignIn(trx, { workspaceId: params.workspaceId, settings, caller, provider: deps.config.oidc });
      return { signIn: await findSignInSettings(trx, params.workspaceId) };
    },
  }),
];
