import { type Static, Type } from 'typebox';
import {
  MAX_VARIABLES,
  VARIABLE_SCOPES,
  VariableKey,
  VariableReference,
  VariableValue,
} from '../../../shared/variables/model.js';
import { oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

/** Masked metadata: the API never returns the content of a variable. */
const VariableSchema = Strict(
  {
    id: Uuid,
    key: Type.String(),
    kind: oneOf(['variable', 'reference']),
    /** Beyond the specification, so no caller may insist on it. */
    scope: Type.Optional(oneOf(VARIABLE_SCOPES)),
    configured: Type.Boolean(),
    value: Type.Null(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Variable',
);
export type VariablePresentation = Static<typeof VariableSchema>;

export const VariableResponse = Strict({ variable: VariableSchema });
export const VariableListResponse = Strict({ variables: Type.Array(VariableSchema), page: PageSchema });

const content = {
  value: Type.Optional(VariableValue),
  reference: Type.Optional(VariableReference),
  /** A new variable has `all` without it; one that exists keeps its own. */
  scope: Type.Optional(oneOf(VARIABLE_SCOPES)),
};
export const CreateVariableBody = Strict({ key: VariableKey, ...content });
export const SetVariablesBody = Strict({
  set: Type.Optional(Type.Array(CreateVariableBody, { maxItems: MAX_VARIABLES })),
  /** Keys; those that do not exist are left out. */
  unset: Type.Optional(Type.Array(VariableKey, { maxItems: MAX_VARIABLES })),
});
export const SetVariablesResponse = Strict({ variables: Type.Array(VariableSchema) });
export const UpdateVariableBody = Strict(content);
