import { Type } from 'typebox';
import { CONTROL } from '../../../shared/core/plain-text.js';
import { defineRoute } from '../../http/route.js';
import { Nullable, oneOf, Strict } from '../../http/schema.js';
import { updateSignIn } from './commands.js';
import { findSignInSettings, SIGN_IN_ROLES } from './settings-store.js';

const MAX_DOMAINS = 20;
const MAX_ROLES = 100;
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const ONE_LINE = `^[^${CONTROL}]{1,200}$`;
const SignInRole = oneOf('SignInRole', SIGN_IN_ROLES);

const SignInSettingsSchema = Strict(
  {
    allowedDomains: Type.Array(
      Type.String({
        maxLength: 253,
        pattern: `^${LABEL}(?:\\.${LABEL})+$`,
        description: 'a domain such as example.com',
      }),
      {
        maxItems: MAX_DOMAINS,
        uniqueItems: true,
        description:
          'People whose verified e-mail address is in one of these domains become members at their first sign-in with the provider',
      },
    ),
    role: SignInRole,
    roleClaim: Nullable(
      Type.String({
        maxLength: 200,
        pattern: ONE_LINE,
        description: 'The claim whose values have roles of their own, such as groups',
      }),
    ),
    roles: Type.Record(Type.String({ pattern: ONE_LINE }), SignInRole, {
      additionalProperties: false,
      maxProperties: MAX_ROLES,
      description: 'A value of the claim → the role that it gives; of several, the highest counts',
    }),
    passwords: Type.Boolean({
      description: 'If false, sessions that began with a password do not reach the workspace',
    }),
  },
  'SignInSettings',
);

const SignInSettingsResponse = Strict({ signIn: SignInSettingsSchema });
const { roleClaim, roles, ...needed } = SignInSettingsSchema.properties;
const SignInSettingsBody = Strict({
  ...needed,
  roleClaim: Type.Optional(roleClaim),
  roles: Type.Optional(roles),
});

const PATH = '/workspaces/:workspaceId/sign-in';

/** Settings that decide who becomes a member of a workspace by signing in with the OpenID Connect provider. */
export const signInRoutes = [
  defineRoute('GET', PATH, 'sign-in.read', {
    summary: 'Read the sign-in settings',
    description: 'Who becomes a member by signing in with the provider, and whether passwords reach the workspace.',
    response: SignInSettingsResponse,
    handler: async ({ db, params }) => ({ signIn: await findSignInSettings(db, params.workspaceId) }),
  }),
  defineRoute('PUT', PATH, 'sign-in.update', {
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
