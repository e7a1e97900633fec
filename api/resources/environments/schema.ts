import { type Static, Type } from 'typebox';
import type { EnvironmentRow } from '../../../shared/environments/store.js';
import { present } from '../../http/present.js';
import { described, Name, oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { ApplySchema, SecretValues } from '../stacks/schema.js';
import type { ReferenceInto } from './store.js';

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
export const presentEnvironment = (row: EnvironmentRow) => present(EnvironmentSchema, row);

export const CreateEnvironmentResponse = Strict({
  environment: EnvironmentSchema,
  clone: Type.Optional(
    Strict({
      stack: described(Type.String(), 'The stack that the copies belong to'),
      apply: described(ApplySchema, 'The apply that makes them'),
      warnings: Type.Array(Type.String({ description: 'What is not copied' })),
    }),
  ),
});
const Named = { id: Uuid, name: Type.String() };

/**
 * If the request protects the environment, `references` lists variables outside the environment that refer to its
 * services. `sharedGroups` lists groups that are linked to services inside and outside the environment. Only admins can
 * then deploy services that use these variables or groups.
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

export function presentReference(row: ReferenceInto) {
  return {
    key: row.key,
    from: { kind: row.from_kind, id: row.from_id, name: row.from_name },
    to: { serviceId: row.provider_id, name: row.provider_name, key: row.provider_key },
  };
}

export const CreateEnvironmentBody = Strict({
  name: Name,
  protected: Type.Optional(Type.Boolean()),
  cloneFrom: Type.Optional(described(Uuid, 'An environment of the workspace, whose content is copied')),
  data: Type.Optional(
    described(
      oneOf('CloneData', ['none', 'latestBackup'], 'none'),
      'What databases and volumes of a clone begin with: nothing, or the latest verified backup',
    ),
  ),
  values: Type.Optional(described(SecretValues, 'Values of secrets of a clone, by service.KEY')),
  deploy: Type.Optional(Type.Boolean({ default: false, description: 'Deploy the services of a clone' })),
});
export type CreateEnvironmentBody = Static<typeof CreateEnvironmentBody>;
export const UpdateEnvironmentBody = Strict({
  name: Type.Optional(Name),
  protected: Type.Optional(Type.Boolean()),
});
