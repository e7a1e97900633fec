import { type Static, Type } from 'typebox';
import {
  PartialServiceConfigurationSchema,
  ServiceConfigurationSchema,
} from '../../../shared/services/configuration.js';
import {
  HEALTH_STATUSES,
  LIFECYCLE_STATUSES,
  SERVICE_KINDS,
  SERVICE_STATUSES,
} from '../../../shared/services/model.js';
import { VariableKey, VariableValue } from '../../../shared/variables/model.js';
import { described, Name, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { OperationSchema } from '../operations/schema.js';

export const ServiceSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    kind: oneOf('ServiceKind', SERVICE_KINDS),
    archived: Type.Boolean(),
    configuration: ServiceConfigurationSchema,
    projectId: Nullable(Uuid),
    environmentId: Nullable(Uuid),
    environmentGroupIds: Type.Array(Uuid),
    status: oneOf('ServiceStatus', SERVICE_STATUSES),
    displayStatus: Type.String(),
    lifecycleStatus: oneOf('LifecycleStatus', LIFECYCLE_STATUSES),
    healthStatus: oneOf('HealthStatus', HEALTH_STATUSES),
    healthCheckedAt: Nullable(Timestamp),
    runtimeDetail: Type.String(),
    url: Type.String(),
    internalHost: Type.String(),
    volumeHost: Type.Optional(
      Type.String({
        description: 'The only host, or node of the swarm, that runs this database: it has the volume.',
      }),
    ),
    asleepSince: Type.Optional(
      described(
        Timestamp,
        'Set while the service sleeps: until the next request its replicas are frozen, or it has none',
      ),
    ),
    frozen: Type.Optional(
      Type.Boolean({ description: 'True while the service sleeps with frozen replicas: they keep their memory' }),
    ),
    lastSleep: Type.Optional(
      described(Strict({ from: Timestamp, until: Timestamp }), 'When the service slept last, until it was woken'),
    ),
    deploymentId: Nullable(Uuid),
    deploymentUpdatedAt: Nullable(Timestamp),
    liveDeploymentId: Nullable(Uuid),
    estimatedMonthly: Strict({ usd: Type.Number(), ngn: Type.Number(), priced: Type.Boolean() }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    deletedAt: Nullable(Timestamp),
    deletionRequestedAt: Nullable(Timestamp),
  },
  'Service',
);
export type ServicePresentation = Static<typeof ServiceSchema>;

export const ServiceResponse = Strict({ service: ServiceSchema });
export const ServiceListResponse = Strict({ services: Type.Array(ServiceSchema), page: Type.Optional(PageSchema) });

export const CreateServiceBody = Strict({
  name: Name,
  kind: oneOf('ServiceKind', SERVICE_KINDS),
  configuration: Type.Optional(PartialServiceConfigurationSchema),
  projectId: Type.Optional(Nullable(Uuid)),
  environmentId: Type.Optional(Nullable(Uuid)),
  variables: Type.Optional(
    Type.Array(Strict({ key: VariableKey, value: VariableValue }), { maxItems: 500, description: 'Keys are unique' }),
  ),
  deploy: Type.Optional(Type.Boolean({ description: 'Queue the first deployment too' })),
});

export const UpdateServiceBody = Strict({
  name: Type.Optional(Name),
  kind: Type.Optional(
    described(oneOf('ServiceKind', SERVICE_KINDS), 'It cannot change: only the current kind is accepted'),
  ),
  configuration: Type.Optional(PartialServiceConfigurationSchema),
  projectId: Type.Optional(Nullable(Uuid)),
  environmentId: Type.Optional(Nullable(Uuid)),
});

export const DeleteServiceResponse = Strict({
  deleted: Type.Boolean(),
  queued: Type.Boolean(),
  operation: Nullable(OperationSchema),
});
