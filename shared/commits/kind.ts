import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';

/** Reported commits. The transaction that queues the deployment ends the event, so no lease is needed. */
export const COMMIT_EVENTS = defineKind({
  table: 'commit_events',
  payload: 'eventId',
  queues: { commit: RECORD_QUEUE },
  lease: null,
  abandoned: { ...ABANDONED, touched: 'created_at' },
});
