import { defineKind, SHORT_QUEUE } from '../engine/kind.js';

/** The transaction that stores the lines of a batch also deletes the batch, so no lease is needed. */
export const LOG_BATCHES = defineKind({
  table: 'log_batches',
  payload: 'batchId',
  queues: {
    'log-ingest': { ...SHORT_QUEUE, attempts: 10, backoff: { type: 'exponential', delay: 200 }, slots: 4 },
  },
  lease: null,
  // One job stores all batches of a service, so abandoned batches need only one new job per service.
  abandoned: {
    touched: 'created_at',
    open: 'true',
    distinct: 'distinct on (service_id)',
    order: 'service_id, created_at',
  },
});
