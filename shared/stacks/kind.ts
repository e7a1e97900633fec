import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';
import type { ApplyStatus } from './model.js';

/**
 * State of a stack apply → its transitions. The event `stepped` means that a completed step was recorded in
 * `stack_steps`. While an apply waits for its deployments, no worker processes it, but it stays `running`.
 */
const STATES = {
  queued: { claimed: 'running', cancelled: 'cancelled' },
  running: {
    claimed: 'running',
    released: 'running',
    handedBack: 'running',
    stepped: 'running',
    succeeded: 'succeeded',
    failed: 'failed',
    cancelled: 'cancelled',
  },
  succeeded: {},
  failed: {},
  cancelled: {},
} as const satisfies Record<ApplyStatus, Partial<Record<string, ApplyStatus>>>;

/** How stack applies are stored and queued for workers. The table `stack_steps` records which steps are done. */
export const STACK_APPLIES = defineKind({
  table: 'stack_applies',
  payload: 'applyId',
  queues: { 'stack-apply': RECORD_QUEUE },
  lease: {
    states: STATES,
    cancellable: true,
    onClaim: 'started_at = coalesce(started_at, now())',
    onEnd: { sealed_steps: 'null' },
  },
  abandoned: ABANDONED,
});
