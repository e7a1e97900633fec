import { Type } from 'typebox';
import type { Config } from '../../../shared/core/config.js';
import { DEFAULT_CONFIGURATION, ServiceConfigurationSchema } from '../../../shared/services/configuration.js';
import { SERVICE_KINDS } from '../../../shared/services/model.js';
import { DATABASE_PLANS, PLANS, REGIONS, RUNTIMES, SERVICE_TYPES } from '../../../shared/services/plan-catalog.js';
import { type WorkerAbilities, workersOnline } from '../../../shared/workers/store.js';
import { pick } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { oneOf, Strict } from '../../http/schema.js';

const PlanSchema = Strict(
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

const CatalogSchema = Strict(
  {
    capabilities: Type.Record(Type.String(), Type.Boolean()),
    defaults: ServiceConfigurationSchema,
    plans: Type.Array(PlanSchema),
    databasePlans: Type.Array(PlanSchema),
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

/** Presents the catalog (specification, Catalog). A capability is true only if this installation supports it. */
function presentCatalog(config: Config, workers: WorkerAbilities) {
  const containers = config.runtime === 'swarm';
  return pick(CatalogSchema, {
    capabilities: {
      hostingEnabled: config.hostingEnabled,
      workerOnline: workers.online,
      /** Containers of a swarm always have isolated networks. Without a swarm, all online workers must support them. */
      networkIsolation: containers || workers.networkIsolation,
      rollbacks: true,
      cancellation: true,
      dockerfileBuilds: workers.runsImages,
      imageDeploys: workers.runsImages,
      cronJobs: true,
      databases: workers.dataKinds.includes('postgres'),
      keyValueStores: workers.dataKinds.includes('redis'),
      automaticScaling: workers.measuresUsage,
      automaticDeploys: true,
      previews: config.hostingEnabled,
      localRepositories: config.allowLocalRepositories,
    },
    defaults: { ...DEFAULT_CONFIGURATION },
    plans: [...PLANS],
    databasePlans: [...DATABASE_PLANS],
    pricesAreEstimates: true,
    regions: [...REGIONS],
    runtimes: [...RUNTIMES],
    serviceTypes: [...SERVICE_TYPES],
  });
}

export const catalogRoutes = [
  defineRoute('GET', '/catalog', 'catalog.read', {
    summary: 'Read the catalog',
    description:
      'Service types, plans, regions and runtimes, the defaults of a new service, and what this installation is capable of.',
    response: CatalogSchema,
    handler: async ({ deps, db }) => presentCatalog(deps.config, await workersOnline(db)),
  }),
];
