import { type DeploymentState, isTerminal } from '../../../shared/deployments/model.js';
import type { LifecycleStatus, ServiceStatus } from '../../../shared/services/model.js';

export interface StatusFacts {
  lifecycleStatus: LifecycleStatus;
  liveDeploymentId: string | null;
  latestDeploymentState: DeploymentState | null;
}

/** Derives the status that users see. A failed deployment does not change it while an earlier release is live. */
export function serviceStatus(facts: StatusFacts): ServiceStatus {
  if (facts.lifecycleStatus === 'deleting' || facts.lifecycleStatus === 'deleted') return 'deleting';
  const latest = facts.latestDeploymentState;
  if (latest !== null && !isTerminal(latest)) return 'deploying';
  if (facts.lifecycleStatus === 'suspended') return 'suspended';
  if (facts.liveDeploymentId !== null) return 'live';
  return latest === 'failed' ? 'failed' : 'not_deployed';
}

const DISPLAY: Record<ServiceStatus, string> = {
  not_deployed: 'Not deployed',
  deploying: 'Deploying',
  live: 'Live',
  failed: 'Failed',
  suspended: 'Suspended',
  deleting: 'Deleting',
};

export function displayStatus(status: ServiceStatus): string {
  return DISPLAY[status];
}
