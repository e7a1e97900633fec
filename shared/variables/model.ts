import { type Static, Type } from 'typebox';

/** A name that shells accept. `__proto__` cannot be an ordinary key of a JavaScript object. */
export const VariableKey = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
  not: { const: '__proto__' },
  description:
    'a name of letters, digits and _, without a digit at its start. PORT can be set, but a running service gets the PORT of the platform',
});

/** Maximum size of one value, in bytes of UTF-8. */
export const VALUE_BYTES = 65_536;
export const VariableValue = Type.String({
  maxLength: VALUE_BYTES,
  description: `at most ${VALUE_BYTES} bytes of UTF-8. It is stored encrypted and never shown`,
});

/** Maximum total size of the names and values of a service, of a group, and of a deployment, in bytes. */
export const VARIABLES_BYTES = 262_144;

/** The deployments that get a variable. `production` means those of the service itself, without its previews. */
export const VARIABLE_SCOPES = ['all', 'production', 'preview'] as const;
export type VariableScope = (typeof VARIABLE_SCOPES)[number];

/** The scope of a deployment. It gets variables with this scope or with `all`. */
export type DeploymentScope = Exclude<VariableScope, 'all'>;

export const VariableReference = Type.Object(
  { serviceId: Type.String({ format: 'uuid', maxLength: 36 }), key: VariableKey },
  {
    $id: 'VariableReference',
    additionalProperties: false,
    description: 'a variable of another service of the workspace, or one that each service offers: HOST, PORT, URL',
  },
);
export type VariableReference = Static<typeof VariableReference>;

/** Maximum number of variables per service or group. */
export const MAX_VARIABLES = 1000;

export type VariableContent = { value: string } | { reference: VariableReference };
