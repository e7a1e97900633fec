import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';

/** One transaction queues the deployment and marks the reported commit as handled, so no lease is needed. */
export const COMMIT_EVENTS = defineKind({
  table: 'commit_events',
  payload: 'eventId',
  queues: { commit: RECORD_QUEUE },
  lease: null,
  abandoned: { ...ABANDONED, touched: 'created_at' },
});
