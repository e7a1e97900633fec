import { type Static, Type } from 'typebox';
import {
  MAX_VARIABLES,
  VARIABLE_SCOPES,
  VariableKey,
  VariableReference,
  VariableValue,
} from '../../../shared/variables/model.js';
import type { VariableView } from '../../../shared/variables/store.js';
import { present } from '../../http/present.js';
import { described, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

/** A variable without its value, which the API never returns. */
const VariableSchema = Strict(
  {
    id: Uuid,
    key: Type.String(),
    kind: oneOf('VariableKind', ['variable', 'reference']),
    /** Optional, because the specification does not have this field. */
    scope: Type.Optional(oneOf('VariableScope', VARIABLE_SCOPES)),
    configured: Type.Boolean(),
    value: Type.Null(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Variable',
);
export type VariablePresentation = Static<typeof VariableSchema>;

export function presentVariable(row: VariableView) {
  const kind = row.reference_service_id === null ? 'variable' : 'reference';
  return present(VariableSchema, row, { kind, configured: true, value: null });
}

export const VariableResponse = Strict({ variable: VariableSchema });
export const VariableListResponse = Strict({ variables: Type.Array(VariableSchema), page: PageSchema });

const content = {
  value: Type.Optional(VariableValue),
  reference: Type.Optional(VariableReference),
  scope: Type.Optional(
    described(
      oneOf('VariableScope', VARIABLE_SCOPES),
      'Which deployments get the variable. If absent, a new variable has all, and an existing one keeps its scope',
    ),
  ),
};
const required = (name: keyof typeof content) => ({ required: [name], properties: { [name]: {} } });
const EXACTLY_ONE = { additionalProperties: false, oneOf: [required('value'), required('reference')] };
export const CreateVariableBody = Type.Object({ key: VariableKey, ...content }, EXACTLY_ONE);
export const SetVariablesBody = Strict({
  set: Type.Optional(
    Type.Array(CreateVariableBody, { maxItems: MAX_VARIABLES, description: 'Keys are unique, also among unset' }),
  ),
  unset: Type.Optional(
    Type.Array(VariableKey, { maxItems: MAX_VARIABLES, description: 'Keys to delete; unknown ones are ignored' }),
  ),
});
export const SetVariablesResponse = Strict({ variables: Type.Array(VariableSchema) });
export const UpdateVariableBody = Type.Object(content, EXACTLY_ONE);
