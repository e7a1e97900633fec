import { type Static, Type } from 'typebox';
import { Name, oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';

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
const Named = { id: Uuid, name: Type.String() };

/**
 * If the request protects the environment, `references` lists outside variables that refer to its services, and
 * `sharedGroups` lists environment groups of services inside and outside. From then on only admins can deploy with
 * them.
 */
export const UpdateEnvironmentResponse = Strict({
  environment: EnvironmentSchema,
  references: Type.Optional(
    Type.Array(
      Strict({
        key: Type.String(),
        from: Strict({ kind: oneOf('VariableOwnerKind', ['service', 'environment-group']), ...Named }),
        to: Strict({ serviceId: Uuid, name: Type.String(), key: Type.String() }),
      }),
    ),
  ),
  sharedGroups: Type.Optional(Type.Array(Strict(Named))),
});
export type ReferencePresentation = NonNullable<Static<typeof UpdateEnvironmentResponse>['references']>[number];

export const CreateEnvironmentBody = Strict({ name: Name, protected: Type.Optional(Type.Boolean()) });
export const UpdateEnvironmentBody = Strict({
  name: Type.Optional(Name),
  protected: Type.Optional(Type.Boolean()),
});
