import { defineKind, SHORT_QUEUE } from '../engine/kind.js';

/**
 * Detections as a kind of background work. Only the first result of a detection is stored, so it is harmless if two
 * workers run the same detection, and no lease is needed.
 */
export const DETECTIONS = defineKind({
  table: 'detections',
  payload: 'detectionId',
  queues: { detection: SHORT_QUEUE },
  lease: null,
  abandoned: null,
});
