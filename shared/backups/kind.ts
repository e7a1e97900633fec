import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';

/** Backups of data services. */
export const BACKUPS = defineKind({
  table: 'backups',
  payload: 'backupId',
  queues: { backup: RECORD_QUEUE },
  lease: {},
  abandoned: ABANDONED,
});
