import type { DeploymentState } from '../../shared/deployments/model.js';
import type { ApplyStatus } from '../../shared/stacks/model.js';

/** Times are in milliseconds since the epoch. */
export interface GroupDeployment {
  name: string;
  status: DeploymentState;
  error: string;
  /** False for a database, which goes live separately, before the other services. */
  together: boolean;
  admitted: boolean;
  cancelRequested: boolean;
  /** False if the release has replicas but none of them is ready. */
  ready: boolean;
  /** When the last step of this deployment started or ended. */
  progressedAt: number;
  finishedAt: number | null;
  /** Timeout of this deployment's build. */
  limitMs: number;
}

export interface Group {
  applyStatus: ApplyStatus;
  applyCancelRequested: boolean;
  /** The reason for an earlier decision that none of the deployments goes live; '' if there is no such decision. */
  givenUp: string;
  /** Names of services that the apply has not deployed yet. */
  undeployed: readonly string[];
  deployments: readonly GroupDeployment[];
  now: number;
}

export type GroupDecision =
  | { type: 'wait'; for: string[] }
  /** All deployments are prepared: move the routes of all services to the new releases now. */
  | { type: 'switch' }
  | { type: 'switched' }
  /** No deployment goes live: no route may be moved to a new release from now on. */
  | { type: 'giveUp'; reason: string };

/** Stands for the end of a deployment that has not ended, so that it is sorted last. */
const OPEN = Number.MAX_SAFE_INTEGER;

/** Decides whether the deployments of an apply go live together (design, section 9). */
export function decideTogether(group: Group): GroupDecision {
  const { applyStatus, givenUp, undeployed, deployments, now } = group;
  const members = deployments.filter(({ together }) => together);
  if (members.some(({ status }) => status === 'switched' || status === 'live')) return { type: 'switched' };
  const reason = givenUp || reasonToGiveUp(group);
  if (reason !== '') return { type: 'giveUp', reason };

  const missing = [...undeployed, ...deployments.filter((each) => !isThere(each)).map(({ name }) => name)];
  if (missing.length === 0) return { type: 'switch' };
  const works = deployments.some(({ status, admitted }) => admitted && isWorking(status));
  const limitMs = Math.max(...deployments.map((each) => each.limitMs));
  const idleMs = now - Math.max(...deployments.map(({ progressedAt }) => progressedAt));
  // This timeout does not apply while the apply still queues deployments, because another worker continues the apply if
  // its worker dies.
  if (applyStatus !== 'queued' && undeployed.length === 0 && !works && idleMs > limitMs) {
    const those = missing.length === 1 ? 'was' : 'were';
    return {
      type: 'giveUp',
      reason: `${missing.join(', ')} ${those} not ready within ${Math.round(limitMs / 1000)} s`,
    };
  }
  return { type: 'wait', for: missing };
}

function reasonToGiveUp({ applyStatus, applyCancelRequested, deployments }: Group): string {
  const [ended] = deployments
    .filter(({ status, cancelRequested }) => status === 'failed' || status === 'cancelled' || cancelRequested)
    .toSorted((one, other) => (one.finishedAt ?? OPEN) - (other.finishedAt ?? OPEN));
  if (ended?.status === 'failed') return `the deployment of ${ended.name} failed: ${ended.error}`;
  if (applyCancelRequested || applyStatus === 'cancelled') return 'the apply was cancelled';
  if (ended !== undefined) return `the deployment of ${ended.name} was cancelled`;
  return applyStatus === 'failed' ? 'the apply failed' : '';
}

function isWorking(status: DeploymentState): boolean {
  return status === 'queued' || status === 'building' || status === 'releasing';
}

function isThere({ together, status, ready }: GroupDeployment): boolean {
  return together ? status === 'prepared' && ready : status === 'live';
}
