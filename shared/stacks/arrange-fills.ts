import type { Step } from './model.js';
import type { Plan } from './plan-model.js';

/** A service whose data is restored from a backup of the service `from`. */
export interface Fill {
  service: string;
  isDatabase: boolean;
  from: string;
  backupId: string;
}

/**
 * Adds restores to a plan whose resources are all new. Databases are deployed before the restores, because a restore
 * needs a running database. The other services are deployed after the restores.
 */
export function arrangeFills(plan: Plan, fills: readonly Fill[], deploy: boolean): Plan {
  const empty = fills.filter(({ isDatabase, service }) => isDatabase && !plan.deploys.includes(service));
  const filled = fills.filter((fill) => !empty.includes(fill));
  const databases = filled.filter(({ isDatabase }) => isDatabase).map(({ service }) => service);
  const deploys = plan.deploys.filter((name) => deploy || databases.includes(name));
  const first = deploys.filter((name) => databases.includes(name));
  const later = deploys.filter((name) => !databases.includes(name));
  return {
    ...plan,
    deploys,
    warnings: [...plan.warnings, ...empty.map(({ service }) => `${service} is not deployed, so it stays empty`)],
    steps: [
      ...plan.steps.filter(({ op }) => op !== 'service.deploy'),
      ...first.map(deployStep),
      ...filled.map(({ service, from, backupId }): Step => ({ op: 'service.restore', service, from, backupId })),
      ...later.map(deployStep),
    ],
  };
}

function deployStep(service: string): Step {
  return { op: 'service.deploy', service };
}
