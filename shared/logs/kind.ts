import { defineKind, SHORT_QUEUE } from '../engine/kind.js';

/**
 * Batches of log lines as a kind of background work. The transaction that stores a batch's lines also deletes the
 * batch, so no lease is needed.
 */
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
