import { getDeployment } from '../../shared/db/deployments.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import type { WorkshopDeps } from '../deploy/deps.js';
import { runDeployment } from '../deploy/pipeline.js';
import { retireOldReleases } from '../deploy/retire.js';
import type { JobHelpers } from './helpers.js';

/** Queue `deploy`: runs the deployment to its end, then retires what it replaced. */
export async function deployJob(
  deps: WorkshopDeps,
  { deploymentId }: Payloads['deploy'],
  helpers: JobHelpers,
): Promise<string> {
  const outcome = await runDeployment(deps, deploymentId, helpers);
  const deployment = await getDeployment(deps.db, deploymentId);
  if (deployment?.status === 'live') await retireOldReleases(deps, deployment.service_id, helpers.signal);
  return outcome ?? `nothing to do: ${deployment?.status ?? 'no such deployment'}`;
}
