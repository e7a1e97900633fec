import type { RunRow } from '../../../shared/runs/model.js';
import type { RunView } from './schema.js';

export function presentRun(row: RunRow): RunView {
  return {
    id: row.id,
    status: row.status,
    trigger: row.trigger,
    attempt: row.attempt,
    scheduledAt: row.scheduled_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    exitCode: row.exit_code,
    error: row.error,
  };
}
