import { type Static, Type } from '@sinclair/typebox';
import { VariableKey, VariableReference, VariableValue } from '../../../shared/variables/model.js';
import { oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

/** Masked metadata: the API never returns the content of a variable. */
export const VariableSchema = Strict(
  {
    id: Uuid,
    key: Type.String(),
    kind: oneOf(['variable', 'reference']),
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
};
export const CreateVariableBody = Strict({ key: VariableKey, ...content });
export const UpdateVariableBody = Strict(content);
