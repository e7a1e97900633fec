import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';
import type { RunStatus } from './model.js';

/** State → its transitions. A run stays `running` while no worker holds it, because its command goes on. */
const STATES = {
  queued: { claimed: 'running', cancelled: 'cancelled' },
  running: {
    claimed: 'running',
    released: 'running',
    handedBack: 'running',
    retried: 'queued',
    succeeded: 'succeeded',
    failed: 'failed',
    cancelled: 'cancelled',
  },
  succeeded: {},
  failed: {},
  cancelled: {},
  skipped: {},
} as const satisfies Record<RunStatus, Partial<Record<string, RunStatus>>>;

/**
 * Each attempt of a run uses the release that is live when a worker first claims the attempt. A run that belongs to a
 * deployment uses the release of this deployment.
 */
export const RUNS = defineKind({
  table: 'runs',
  payload: 'runId',
  queues: { run: RECORD_QUEUE },
  waiting: 'finished_at is null and admitted_at is null and not_before <= now()',
  lease: {
    states: STATES,
    cancellable: true,
    onClaim: `started_at = coalesce(started_at, now()), deployment_id = coalesce(
      (select live_deployment_id from services s
        where s.id = claimed.service_id and claimed.trigger <> 'deployment'
          and not exists (select from replicas p where p.run_id = claimed.id and p.run_attempt = claimed.attempt)),
      deployment_id)`,
  },
  abandoned: ABANDONED,
});
