import { BACKUPS } from '../backups/kind.js';
import { COMMIT_EVENTS } from '../commits/kind.js';
import { DEPLOYMENTS } from '../deployments/kind.js';
import { DETECTIONS } from '../detections/kind.js';
import type { DueRecord } from '../engine/due-records.js';
import type { QueueDefinition, WorkKind } from '../engine/kind.js';
import { FORGE_REPORTS } from '../forge/kind.js';
import { LOG_BATCHES } from '../logs/kind.js';
import { OPERATIONS } from '../operations/kind.js';
import { RUNS } from '../runs/kind.js';
import { STACK_APPLIES } from '../stacks/kind.js';
import { TEMPLATE_SOURCES } from '../templates/kind.js';

/** Queues, payloads, jobs and SQL statements are derived from this list. */
export const KINDS = [
  DEPLOYMENTS,
  OPERATIONS,
  RUNS,
  BACKUPS,
  LOG_BATCHES,
  DETECTIONS,
  COMMIT_EVENTS,
  STACK_APPLIES,
  TEMPLATE_SOURCES,
  FORGE_REPORTS,
] as const;

type PayloadsOf<Kind> =
  Kind extends WorkKind<string, infer Id, infer Queue> ? { [Q in Queue]: { [I in Id]: string } } : never;
type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** Contains only ids, because a job is only a wake-up and PostgreSQL has the record. */
export type Payloads = Intersection<PayloadsOf<(typeof KINDS)[number]>>;
export type QueueName = keyof Payloads;

export const QUEUES = Object.assign({}, ...KINDS.map(({ queues }) => queues)) as Record<QueueName, QueueDefinition>;
export const QUEUE_NAMES = Object.keys(QUEUES) as QueueName[];

/** `dispatch` counts the jobs created for the record so far. */
export interface NewJob<N extends QueueName = QueueName> {
  queue: N;
  recordId: string;
  dispatch: number;
  payload: Payloads[N];
}

export function jobOf({ queues, queueBy, payload }: WorkKind, { id, dispatches, kind }: DueRecord): NewJob {
  const queue = (queueBy?.queues[kind ?? ''] ?? Object.keys(queues)[0]) as QueueName;
  return { queue, recordId: id, dispatch: dispatches, payload: { [payload]: id } as Payloads[QueueName] };
}

/**
 * Returns the id of a record's job. The queue silently ignores a job whose id it still has, even that of a finished
 * job, so the number of jobs created for the record (`dispatch`) is part of the id.
 */
export function jobId(queue: QueueName, recordId: string, dispatch: number): string {
  return `${queue}-${recordId}-${dispatch}`;
}
