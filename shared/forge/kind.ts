import { ABANDONED, defineKind, SHORT_QUEUE } from '../engine/kind.js';

/**
 * Status reports to git hosts, such as GitHub. The host is locked while a report is sent, so no lease is needed. If the
 * status changes again, the same record becomes due again.
 */
export const FORGE_REPORTS = defineKind({
  table: 'forge_reports',
  payload: 'forgeReportId',
  queues: { 'forge-report': { ...SHORT_QUEUE, slots: 6 } },
  lease: null,
  abandoned: {
    ...ABANDONED,
    open: `finished_at is null and not exists (select from forge_targets t where t.id = hook_id and t.busy_until > now())`,
  },
});
