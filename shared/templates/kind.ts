import { ABANDONED, DAY_SECONDS, defineKind, HOUR_SECONDS } from '../engine/kind.js';

/** How workers read template sources (repositories). Reading one twice is harmless, so no lease is needed. */
export const TEMPLATE_SOURCES = defineKind({
  table: 'template_sources',
  payload: 'templateSourceId',
  queues: {
    'template-source': {
      attempts: 3,
      backoff: { type: 'fixed', delay: 1000 },
      slots: 2,
      keepCompleted: { count: 200, age: HOUR_SECONDS },
      keepFailed: { count: 500, age: DAY_SECONDS },
    },
  },
  lease: null,
  abandoned: ABANDONED,
});
