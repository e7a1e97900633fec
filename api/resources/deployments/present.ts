import type { Canary, CanarySide } from '../../../shared/deployments/canary-store.js';
import { statusOf } from '../../../shared/deployments/model.js';
import type { ListedDeployment } from '../../../shared/deployments/store.js';
import { quantile } from '../../../shared/metrics/model.js';
import { present } from '../../http/present.js';
import {
  type CanaryPresentation,
  type CanarySidePresentation,
  type DeploymentPresentation,
  DeploymentSchema,
} from './schema.js';

export function presentDeployment(row: ListedDeployment): DeploymentPresentation {
  return present(DeploymentSchema, row, {
    status: statusOf(row.status),
    cancelRequested: row.cancel_requested_at !== null,
    steps: row.steps.map(({ name, startedAt, finishedAt, runId }) => ({
      name,
      startedAt,
      finishedAt,
      ...(runId === undefined ? {} : { runId }),
    })),
  });
}

export function presentCanary(canary: Canary): CanaryPresentation {
  const time = (ms: number) => new Date(ms).toISOString();
  const end = canary.promoted ? 'promoted' : 'withdrawn';
  return {
    deploymentId: canary.deploymentId,
    previousDeploymentId: canary.previousId,
    percent: canary.percent,
    outcome: canary.endedAt === null ? 'running' : end,
    reason: canary.reason,
    begunAt: time(canary.begunAt),
    endsAt: time(canary.endsAt),
    endedAt: canary.endedAt === null ? null : time(canary.endedAt),
    new: presentSide(canary.new),
    previous: presentSide(canary.previous),
  };
}

function presentSide({ requests, errors, latency, ready }: CanarySide): CanarySidePresentation {
  const [latencyP50, latencyP95] = [quantile(latency, 0.5), quantile(latency, 0.95)];
  return { requests, errors, latencyP50, latencyP95, readyReplicas: ready };
}
