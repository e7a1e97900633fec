import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';
import type { OperationKind, OperationStatus } from './model.js';

const QUEUES = {
  restart: 'runtime-action',
  suspend: 'runtime-action',
  resume: 'runtime-action',
  delete: 'deletion',
  routing: 'routing-reconciliation',
  restore: 'restore',
} as const satisfies Record<OperationKind, string>;

/** State → its transitions. After a fault of the platform, an operation stays running, and its job is retried. */
const STATES = {
  queued: { claimed: 'running' },
  running: {
    claimed: 'running',
    released: 'queued',
    handedBack: 'running',
    succeeded: 'succeeded',
    failed: 'failed',
  },
  succeeded: {},
  failed: {},
} as const satisfies Record<OperationStatus, Partial<Record<string, OperationStatus>>>;

export const OPERATIONS = defineKind({
  table: 'operations',
  payload: 'operationId',
  queues: {
    'runtime-action': RECORD_QUEUE,
    deletion: { ...RECORD_QUEUE, slots: 2 },
    'routing-reconciliation': RECORD_QUEUE,
    restore: { ...RECORD_QUEUE, slots: 2 },
  },
  queueBy: { column: 'kind', queues: QUEUES },
  lease: { states: STATES, aloneInWorkspace: `kind = 'restore'` },
  abandoned: ABANDONED,
});
