import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';

/** Runs of cron services. */
export const RUNS = defineKind({
  table: 'runs',
  payload: 'runId',
  queues: { run: RECORD_QUEUE },
  waiting: 'finished_at is null and admitted_at is null and not_before <= now()',
  lease: { cancellable: true },
  abandoned: ABANDONED,
});
