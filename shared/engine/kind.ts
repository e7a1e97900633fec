export interface QueueDefinition {
  /** Maximum number of attempts at one job. If all fail, `Dispatcher.reconcile` can create a new job for the record. */
  attempts: number;
  /** Milliseconds between attempts: constant, or doubled each time. */
  backoff: { type: 'fixed' | 'exponential'; delay: number };
  /** The number of this queue's jobs that a worker runs concurrently, unless its settings override it. */
  slots: number;
  /** Finished jobs kept for the dashboard. `age` is in seconds. */
  keepCompleted: { count: number; age: number };
  keepFailed: { count: number; age: number };
}

const HOUR_SECONDS = 3600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

export const RECORD_QUEUE: QueueDefinition = {
  // The attempts span two minutes, in which a container engine can restart with its host. The delay does not grow,
  // because a cancellation may have to wait for the next attempt.
  attempts: 40,
  backoff: { type: 'fixed', delay: 3000 },
  slots: 4,
  keepCompleted: { count: 1000, age: 7 * DAY_SECONDS },
  keepFailed: { count: 2000, age: 14 * DAY_SECONDS },
};

/**
 * The queue for short work. Few attempts are enough: either a request waits for the result, or a later request repeats
 * the work.
 */
export const SHORT_QUEUE: QueueDefinition = {
  attempts: 3,
  backoff: { type: 'fixed', delay: 1000 },
  slots: 2,
  keepCompleted: { count: 200, age: HOUR_SECONDS },
  keepFailed: { count: 500, age: DAY_SECONDS },
};

/** Event → the next state. */
export type Transitions = Readonly<Partial<Record<string, string>>>;

/** A state without transitions is final. */
export type States = Readonly<Record<string, Transitions>>;

interface LeaseRules {
  states: States;
  /**
   * The columns that the engine's statements return. If absent, the statements return all columns and are not prepared.
   */
  columns?: readonly string[];
  /** SQL assignments that a claim makes in addition to the lease. */
  onClaim?: string;
  /** SQL assignments that every event except `claimed`, `released` and `handedBack` makes. */
  onEvent?: string;
  /** Column → SQL expression for its value when a record finishes. */
  onEnd?: Readonly<Record<string, string>>;
  /**
   * Returns an SQL statement that runs together with each statement that may finish records. It reads the changed rows
   * under the name `records`. Only rows with a `finished_at` have finished.
   */
  ended?: (records: string) => string;
  cancellable?: boolean;
  /** SQL condition. In each workspace, only one record that meets it is leased at a time. */
  aloneInWorkspace?: string;
}

export interface DueColumns {
  id: string;
  due_at: Date | null;
  /** Counts the jobs created for the record, and is part of the job's id. */
  dispatches: number;
  created_at: Date;
}

export interface LeasedColumns<Status extends string = string> extends DueColumns {
  workspace_id: string;
  status: Status;
  error: string;
  /** Each claim increments the fence. A worker's write with an older fence changes nothing. */
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  updated_at: Date;
  finished_at: Date | null;
}

/** One kind of background work. Its table has `DueColumns` or, with leases, `LeasedColumns`. */
export interface WorkKind<Table extends string = string, Id extends string = string, Queue extends string = string> {
  readonly table: Table;
  /** The name of a job's only field, which holds the record's id. */
  readonly payload: Id;
  readonly queues: Readonly<Record<Queue, QueueDefinition>>;
  /** The column that selects one of several queues, and the queue for each value. */
  readonly queueBy?: { readonly column: string; readonly queues: Readonly<Record<string, Queue>> };
  /** SQL condition for a record that waits for admission. If absent, a record is due as soon as it is stored. */
  readonly waiting?: string;
  /** Further SQL condition for due records, so that a partial index can be used. */
  readonly due?: string;
  /** Null if no lease is needed: the work completes in one transaction, and doing it twice is harmless. */
  readonly lease: LeaseRules | null;
  /** How to find records whose job was lost; null if a lost job needs no replacement. */
  readonly abandoned: {
    readonly touched: string;
    readonly open: string;
    readonly order: string;
    /** SQL `distinct on (…)`, if only one record of each group should get a new job. */
    readonly distinct?: string;
  } | null;
}

/** Declares a kind of work, and infers its literal types from the value. */
export function defineKind<const Table extends string, const Id extends string, const Queue extends string>(
  kind: WorkKind<Table, Id, Queue>,
): WorkKind<Table, Id, Queue> {
  return kind;
}

export const ABANDONED = { touched: 'updated_at', open: 'finished_at is null', order: 'created_at' } as const;
