import { type Static, Type } from 'typebox';
import { Name, Nullable, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const EnvironmentGroupSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    environmentId: Nullable(Uuid),
    serviceIds: Type.Array(Uuid),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'EnvironmentGroup',
);
export type EnvironmentGroupPresentation = Static<typeof EnvironmentGroupSchema>;

export const EnvironmentGroupResponse = Strict({ environmentGroup: EnvironmentGroupSchema });
export const EnvironmentGroupListResponse = Strict({
  environmentGroups: Type.Array(EnvironmentGroupSchema),
  page: Type.Optional(PageSchema),
});

export const CreateEnvironmentGroupBody = Strict({ name: Name, environmentId: Type.Optional(Nullable(Uuid)) });
export const UpdateEnvironmentGroupBody = Strict({
  name: Type.Optional(Name),
  environmentId: Type.Optional(Nullable(Uuid)),
});
export const LinkServiceBody = Strict({ serviceId: Uuid });
