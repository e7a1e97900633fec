import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';
import type { ApplyStatus } from './model.js';

/** An apply stays `running` while it waits for its deployments, although no worker holds it. */
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

/** The table `stack_steps` records which steps are done. */
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
