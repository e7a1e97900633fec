import { statusOf } from '../../../shared/deployments/model.js';
import type { ListedDeployment } from '../../../shared/deployments/store.js';
import type { DeploymentPresentation } from './schema.js';

export function presentDeployment(row: ListedDeployment): DeploymentPresentation {
  return {
    id: row.id,
    status: statusOf(row.status),
    trigger: row.trigger,
    actor: row.actor,
    branch: row.branch,
    commitSha: row.commit_sha,
    commitMessage: row.commit_message,
    blockedReason: row.blocked_reason,
    error: row.error,
    canRollback: row.can_rollback,
    cancelRequested: row.cancel_requested_at !== null,
    sourceDeploymentId: row.source_deployment_id,
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    steps: row.steps.map(({ name, startedAt, finishedAt, runId }) => ({
      name,
      startedAt,
      finishedAt,
      ...(runId === undefined ? {} : { runId }),
    })),
  };
}
