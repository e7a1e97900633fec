import { ABANDONED, DAY_SECONDS, defineKind, HOUR_SECONDS } from '../engine/kind.js';

/**
 * Status reports to git hosts, such as GitHub, as a kind of background work. If the status changes after it was
 * reported, the same record becomes due again. A git host is locked while a report is sent to it, so no lease is
 * needed.
 */
export const FORGE_REPORTS = defineKind({
  table: 'forge_reports',
  payload: 'forgeReportId',
  queues: {
    'forge-report': {
      attempts: 3,
      backoff: { type: 'fixed', delay: 1000 },
      slots: 6,
      keepCompleted: { count: 200, age: HOUR_SECONDS },
      keepFailed: { count: 500, age: DAY_SECONDS },
    },
  },
  lease: null,
  abandoned: {
    ...ABANDONED,
    open: `finished_at is null and not exists (select from forge_targets t where t.id = hook_id and t.busy_until > now())`,
  },
});
