import { type Static, Type } from 'typebox';
import { ServiceConfigurationSchema } from '../../../shared/services/configuration.js';
import { SERVICE_KINDS } from '../../../shared/services/model.js';
import { oneOf, Strict } from '../../http/schema.js';

const Plan = Strict(
  {
    id: Type.String(),
    name: Type.String(),
    usd: Type.Number(),
    ngn: Type.Number(),
    backupRetentionDays: Type.Optional(Type.Integer()),
    buildMinutes: Type.Optional(Type.Number()),
    cpu: Type.Optional(Type.Number()),
    kinds: Type.Optional(Type.Array(Type.String())),
    logDays: Type.Optional(Type.Number()),
    maxConnections: Type.Optional(Type.Integer()),
    memoryMb: Type.Optional(Type.Number()),
    storageGb: Type.Optional(Type.Number()),
    transferGb: Type.Optional(Type.Number()),
    workspaceLimit: Type.Optional(Type.Integer()),
  },
  'Plan',
);

export const CatalogSchema = Strict(
  {
    capabilities: Type.Record(Type.String(), Type.Boolean()),
    defaults: ServiceConfigurationSchema,
    plans: Type.Array(Plan),
    databasePlans: Type.Array(Plan),
    pricesAreEstimates: Type.Boolean(),
    regions: Type.Array(Strict({ id: Type.String(), name: Type.String(), description: Type.String() })),
    runtimes: Type.Array(Type.String()),
    serviceTypes: Type.Array(
      Strict({
        id: oneOf('ServiceKind', SERVICE_KINDS),
        name: Type.String(),
        plural: Type.String(),
        description: Type.String(),
        runtime: Type.Boolean(),
      }),
    ),
  },
  'Catalog',
);
export type CatalogView = Static<typeof CatalogSchema>;
