import { DAY_SECONDS, defineKind, HOUR_SECONDS } from '../engine/kind.js';

/**
 * Detections as a kind of background work. Only the first result of a detection is stored, so it is harmless if two
 * workers run the same detection, and no lease is needed.
 */
export const DETECTIONS = defineKind({
  table: 'detections',
  payload: 'detectionId',
  queues: {
    // A caller waits for the result, so there are only a few attempts.
    detection: {
      attempts: 3,
      backoff: { type: 'fixed', delay: 1000 },
      slots: 2,
      keepCompleted: { count: 200, age: HOUR_SECONDS },
      keepFailed: { count: 500, age: DAY_SECONDS },
    },
  },
  lease: null,
  abandoned: null,
});
