import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';
import { TRANSITIONS } from './model.js';
import { DEPLOYMENT_COLUMNS } from './rows.js';
import { endedSteps } from './step-records.js';

/**
 * `takeovers` counts how many times in a row a worker claimed a deployment that its previous worker had not released.
 */
export const DEPLOYMENTS = defineKind({
  table: 'deployments',
  payload: 'deploymentId',
  queues: { deploy: RECORD_QUEUE },
  waiting: 'finished_at is null and admitted_at is null',
  // With this condition, the query for due deployments can use the partial index on admitted deployments.
  due: 'finished_at is null and admitted_at is not null',
  lease: {
    states: TRANSITIONS,
    columns: DEPLOYMENT_COLUMNS,
    cancellable: true,
    onClaim: `takeovers = takeovers + case when worker_id is null then 0 else 1 end, blocked_reason = '', due_at = null,
      started_at = coalesce(started_at, now())`,
    onEvent: 'takeovers = 0, worker_faults = 0',
    onEnd: { blocked_reason: `''`, steps: endedSteps() },
    // The inserted row makes a worker send the deployment's notifications.
    ended: (records) =>
      `insert into notifications (deployment_id) select id from ${records} where finished_at is not null on conflict do nothing`,
  },
  abandoned: { ...ABANDONED, order: 'number' },
});
