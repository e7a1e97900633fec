import type { Config } from '../../../shared/core/config.js';
import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import {
  DATABASE_PLANS,
  PLANS,
  type Plan,
  REGIONS,
  RUNTIMES,
  SERVICE_TYPES,
} from '../../../shared/services/plan-catalog.js';
import type { WorkerAbilities } from '../../../shared/workers/store.js';
import type { CatalogView } from './schema.js';

/** Presents the catalog (specification, Catalog). A capability is true only if this installation supports it. */
export function presentCatalog(config: Config, workers: WorkerAbilities): CatalogView {
  const containers = config.runtime === 'swarm';
  return {
    capabilities: {
      hostingEnabled: config.hostingEnabled,
      workerOnline: workers.online,
      /**
       * True if builds and replicas run in isolated networks. Containers of a Docker swarm always do. Otherwise, every
       * online worker must support it.
       */
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
    plans: PLANS.map(presentPlan),
    databasePlans: DATABASE_PLANS.map(presentPlan),
    pricesAreEstimates: true,
    regions: REGIONS.map(({ id, name, description }) => ({ id, name, description })),
    runtimes: [...RUNTIMES],
    serviceTypes: SERVICE_TYPES.map(({ id, name, plural, description, runtime }) => ({
      id,
      name,
      plural,
      description,
      runtime,
    })),
  };
}

function presentPlan(plan: Plan): CatalogView['plans'][number] {
  return {
    id: plan.id,
    name: plan.name,
    usd: plan.usd,
    ngn: plan.ngn,
    backupRetentionDays: plan.backupRetentionDays,
    buildMinutes: plan.buildMinutes,
    cpu: plan.cpu,
    kinds: plan.kinds,
    logDays: plan.logDays,
    maxConnections: plan.maxConnections,
    memoryMb: plan.memoryMb,
    storageGb: plan.storageGb,
    transferGb: plan.transferGb,
    workspaceLimit: plan.workspaceLimit,
  };
}
