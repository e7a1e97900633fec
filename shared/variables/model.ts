import { type Static, Type } from 'typebox';

/**
 * A variable's name, as shells accept it; `__proto__` is no key that a JavaScript object could hold. PORT may be set, but
 * the PORT of a running service is the platform's.
 */
export const VariableKey = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$',
  description: 'a name of letters, digits and _, without a digit at its start',
});

/** Bytes of UTF-8 that one value may have. */
export const VALUE_BYTES = 65_536;
export const VariableValue = Type.String({ maxLength: VALUE_BYTES });

/** Bytes of all names and values together: of one owner's variables, or of a deployment's. */
export const VARIABLES_BYTES = 262_144;

/** The deployments that a variable reaches: every one, those of the service itself, or those of its previews. */
export const VARIABLE_SCOPES = ['all', 'production', 'preview'] as const;
export type VariableScope = (typeof VARIABLE_SCOPES)[number];

/** What a deployment is: it gets the variables of this scope and those of all. */
export type DeploymentScope = Exclude<VariableScope, 'all'>;

/** What another service has, or offers: HOST, PORT, URL. */
export const VariableReference = Type.Object(
  { serviceId: Type.String({ format: 'uuid', maxLength: 36 }), key: VariableKey },
  { additionalProperties: false },
);
export type VariableReference = Static<typeof VariableReference>;

/** How many variables one service or group may have. */
export const MAX_VARIABLES = 1000;

/** Either a value to seal, or a reference. */
export type VariableContent = { value: string } | { reference: VariableReference };
