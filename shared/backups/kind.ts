import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';
import type { BackupStatus } from './model.js';

/** State → its transitions. After a fault of the platform, a backup is queued again. */
const STATES = {
  // A queued backup fails if its service is deleted.
  queued: { claimed: 'running', failed: 'failed' },
  running: {
    claimed: 'running',
    released: 'queued',
    handedBack: 'queued',
    succeeded: 'succeeded',
    failed: 'failed',
  },
  succeeded: {},
  failed: {},
} as const satisfies Record<BackupStatus, Partial<Record<string, BackupStatus>>>;

export const BACKUPS = defineKind({
  table: 'backups',
  payload: 'backupId',
  queues: { backup: { ...RECORD_QUEUE, slots: 2 } },
  lease: { states: STATES, onClaim: 'started_at = coalesce(started_at, now())', aloneInWorkspace: 'true' },
  abandoned: ABANDONED,
});
