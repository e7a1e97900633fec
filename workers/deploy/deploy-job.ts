import type { Payloads } from '../../shared/queues/work-catalog.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { JobDeps } from '../worker-deps.js';
import { performDeployment } from './perform-deployment.js';
import { retireOldReleases } from './retire-releases.js';

/** Handles the queue `deploy`: runs a deployment, then retires the releases that it replaced. */
export async function deployJob(
  deps: JobDeps,
  { deploymentId }: Payloads['deploy'],
  helpers: JobHelpers,
): Promise<string> {
  const { ran, status, serviceId, left } = await performDeployment(deps, deploymentId, helpers);
  if (status === 'live' && serviceId !== null) await retireOldReleases(deps, serviceId, helpers.signal, left);
  return ran ? status : `nothing to do: ${status}`;
}
