import type { RunRow } from '../../../shared/runs/model.js';
import type { RunView } from './schema.js';

export function presentRun(row: RunRow): RunView {
  return {
    id: row.id,
    status: row.status,
    trigger: row.trigger,
    command: row.command,
    deploymentId: row.deployment_id,
    plan: row.plan,
    timeoutSeconds: row.timeout_seconds,
    attempt: row.attempt,
    scheduledAt: row.scheduled_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    exitCode: row.exit_code,
    error: row.error,
  };
}
