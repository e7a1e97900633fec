import type { OperationKind } from '../operations/model.js';

/**
 * The queues. Definitions live here, handlers in `workers/handlers`, so that a process that only queues never loads worker code.
 * A payload is ids only; the record in PostgreSQL is the truth, and a job is a wake-up for it.
 */
export interface Payloads {
  deploy: { deploymentId: string };
  'runtime-action': { operationId: string };
  deletion: { operationId: string };
  'routing-reconciliation': { operationId: string };
  run: { runId: string };
  backup: { backupId: string };
  restore: { operationId: string };
  'log-ingest': { batchId: string };
  detection: { detectionId: string };
  commit: { eventId: string };
}
export type QueueName = keyof Payloads;

export interface QueueDefinition {
  /** Tries of one job before it stays failed; the reconciler may still make a new job for its record. */
  attempts: number;
  /** Waits between tries, in milliseconds: always the same, or twice the last. */
  backoff: { type: 'fixed' | 'exponential'; delay: number };
  /** Finished jobs kept for the dashboard. */
  keepCompleted: { count: number; age: number };
  keepFailed: { count: number; age: number };
}

const HOUR = 3600;
const DAY = 24 * HOUR;
const RECORD: QueueDefinition = {
  // Two minutes, enough for an engine to come back when its host restarts. A cancellation may have to wait for the next
  // try, so the delays do not grow.
  attempts: 40,
  backoff: { type: 'fixed', delay: 3000 },
  keepCompleted: { count: 1000, age: 7 * DAY },
  keepFailed: { count: 2000, age: 14 * DAY },
};

export const QUEUES: Record<QueueName, QueueDefinition> = {
  deploy: RECORD,
  'runtime-action': RECORD,
  deletion: RECORD,
  'routing-reconciliation': RECORD,
  run: RECORD,
  commit: RECORD,
  backup: RECORD,
  restore: RECORD,
  'log-ingest': {
    attempts: 10,
    backoff: { type: 'exponential', delay: 200 },
    keepCompleted: { count: 200, age: HOUR },
    keepFailed: { count: 500, age: DAY },
  },
  // A caller waits for the answer, so a retry later would come too late.
  detection: {
    attempts: 3,
    backoff: { type: 'fixed', delay: 1000 },
    keepCompleted: { count: 200, age: HOUR },
    keepFailed: { count: 500, age: DAY },
  },
};

export const QUEUE_NAMES = Object.keys(QUEUES) as QueueName[];

/** The queue of each kind of operation. */
export const OPERATION_QUEUES = {
  restart: 'runtime-action',
  suspend: 'runtime-action',
  resume: 'runtime-action',
  delete: 'deletion',
  routing: 'routing-reconciliation',
  restore: 'restore',
} as const satisfies Record<OperationKind, QueueName>;

/**
 * The id of a record's job. `dispatch` counts the jobs made for the record: an id that is still kept, even finished,
 * would be ignored in silence by the queue.
 */
export function jobId(queue: QueueName, recordId: string, dispatch: number): string {
  return `${queue}-${recordId}-${dispatch}`;
}
