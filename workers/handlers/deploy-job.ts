import { getDeployment } from '../../shared/deployments/store.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import { runDeployment } from '../deploy/driver.js';
import { retireOldReleases } from '../deploy/retire-releases.js';
import type { JobDeps } from '../worker-deps.js';
import type { JobHelpers } from './job-helpers.js';

/** Queue `deploy`: runs the deployment to its end, then retires the releases that it replaced. */
export async function deployJob(
  deps: JobDeps,
  { deploymentId }: Payloads['deploy'],
  helpers: JobHelpers,
): Promise<string> {
  const outcome = await runDeployment(deps, deploymentId, helpers);
  const deployment = await getDeployment(deps.db, deploymentId);
  if (deployment?.status === 'live') await retireOldReleases(deps, deployment.service_id, helpers.signal);
  return outcome ?? `nothing to do: ${deployment?.status ?? 'no such deployment'}`;
}
