import { type Static, Type } from 'typebox';

/** A variable's name, as shells accept it. `__proto__` is excluded because a JavaScript object cannot have this key. */
export const VariableKey = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
  not: { const: '__proto__' },
  description:
    'a name of letters, digits and _, without a digit at its start. PORT can be set, but a running service gets the PORT of the platform',
});

/** The most bytes of UTF-8 in one value. */
export const VALUE_BYTES = 65_536;
export const VariableValue = Type.String({
  maxLength: VALUE_BYTES,
  description: `at most ${VALUE_BYTES} bytes of UTF-8. It is stored encrypted and never shown`,
});

/** The most bytes of all names and values together, for one service or group, and for one deployment. */
export const VARIABLES_BYTES = 262_144;

/** The deployments that get a variable: all, those of the service itself, or those of its previews. */
export const VARIABLE_SCOPES = ['all', 'production', 'preview'] as const;
export type VariableScope = (typeof VARIABLE_SCOPES)[number];

/** The scope of a deployment: it gets the variables of this scope and those of all. */
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

/** How many variables one service or group may have. */
export const MAX_VARIABLES = 1000;

/** Either a value to seal, or a reference. */
export type VariableContent = { value: string } | { reference: VariableReference };
