import { defineKind, SHORT_QUEUE } from '../engine/kind.js';

/** Only the first result of a detection is stored, so two workers may run it, and no lease is needed. */
export const DETECTIONS = defineKind({
  table: 'detections',
  payload: 'detectionId',
  queues: { detection: SHORT_QUEUE },
  lease: null,
  abandoned: null,
});
