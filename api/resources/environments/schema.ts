import { type Static, Type } from '@sinclair/typebox';
import { Name, Strict, Timestamp, Uuid } from '../../schema.js';

export const EnvironmentSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    protected: Type.Boolean(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Environment',
);
export type EnvironmentPresentation = Static<typeof EnvironmentSchema>;

export const EnvironmentResponse = Strict({ environment: EnvironmentSchema });
export const CreateEnvironmentBody = Strict({ name: Name, protected: Type.Optional(Type.Boolean()) });
export const UpdateEnvironmentBody = Strict({
  name: Type.Optional(Name),
  protected: Type.Optional(Type.Boolean()),
});
