/** A queue's retry policy, concurrency, and retention of finished jobs. */
export interface QueueDefinition {
  /**
   * Maximum number of attempts per job. After the last one, the reconciler may still create a new job for the record.
   */
  attempts: number;
  /** Delay between attempts, in milliseconds: constant, or doubled each time. */
  backoff: { type: 'fixed' | 'exponential'; delay: number };
  /** Number of jobs from this queue that a worker runs concurrently, unless its settings override it. */
  slots: number;
  /** Retention of finished jobs for the dashboard: maximum count, and maximum age in seconds. */
  keepCompleted: { count: number; age: number };
  keepFailed: { count: number; age: number };
}

const HOUR_SECONDS = 3600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** Queue settings for records whose progress users watch. */
export const RECORD_QUEUE: QueueDefinition = {
  // The attempts span two minutes, in which a container engine can restart with its host. The delay does not grow,
  // because a cancellation may have to wait for the next attempt.
  attempts: 40,
  backoff: { type: 'fixed', delay: 3000 },
  slots: 4,
  keepCompleted: { count: 1000, age: 7 * DAY_SECONDS },
  keepFailed: { count: 2000, age: 14 * DAY_SECONDS },
};

/** Queue settings for short work. It has few attempts, because a caller waits for it or the next request repeats it. */
export const SHORT_QUEUE: QueueDefinition = {
  attempts: 3,
  backoff: { type: 'fixed', delay: 1000 },
  slots: 2,
  keepCompleted: { count: 200, age: HOUR_SECONDS },
  keepFailed: { count: 500, age: DAY_SECONDS },
};

/** The events possible in one state → the states that follow. */
export type Transitions = Readonly<Partial<Record<string, string>>>;

/** State → its transitions. A state without transitions is final. */
export type States = Readonly<Record<string, Transitions>>;

/** How workers lease records of one kind of work. */
interface LeaseRules {
  states: States;
  /**
   * If set, the engine's statements return only these columns, and are prepared. If absent, the statements return all
   * columns and are not prepared.
   */
  columns?: readonly string[];
  /** SQL assignments that a claim makes in addition to the lease. */
  onClaim?: string;
  /** SQL assignments that every event except `claimed`, `released` and `handedBack` makes. */
  onEvent?: string;
  /** Column → SQL expression for the value that it gets when a record finishes. */
  onEnd?: Readonly<Record<string, string>>;
  /**
   * Returns an SQL statement that acts on records of this kind as soon as they finish. It runs together with each
   * statement that may finish records. It reads the changed rows under the name `records`. Only rows with a
   * `finished_at` have finished.
   */
  ended?: (records: string) => string;
  /** True if a record can be cancelled: its worker must stop when `cancel_requested_at` is set. */
  cancellable?: boolean;
  /**
   * SQL condition on a record's columns. In each workspace, only one record that meets it is leased at a time. The
   * condition `true` covers all records.
   */
  aloneInWorkspace?: string;
}

/** Columns in the table of every kind of work. */
export interface DueColumns {
  id: string;
  /** When the record needs a job; null if it does not need one. */
  due_at: Date | null;
  /** Number of jobs created for the record. It is part of the job's id. */
  dispatches: number;
  created_at: Date;
}

/** Columns in the table of every kind of work that uses leases. */
export interface LeasedColumns<Status extends string = string> extends DueColumns {
  workspace_id: string;
  status: Status;
  error: string;
  /**
   * Incremented by each claim. Every write by a worker compares it, so a worker that lost the record changes nothing.
   */
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  updated_at: Date;
  finished_at: Date | null;
}

/**
 * One kind of background work, from which its statements, jobs and queues are derived. Its table has `DueColumns` or,
 * with leases, `LeasedColumns`.
 */
export interface WorkKind<Table extends string = string, Id extends string = string, Queue extends string = string> {
  readonly table: Table;
  /** Name of the only field of a job's payload, the record's id. */
  readonly payload: Id;
  readonly queues: Readonly<Record<Queue, QueueDefinition>>;
  /** For a kind of work with several queues: the column that selects one, and the queue for each value. */
  readonly queueBy?: { readonly column: string; readonly queues: Readonly<Record<string, Queue>> };
  /** SQL condition for a record that waits for admission. If absent, a record is due as soon as it is stored. */
  readonly waiting?: string;
  /** Further SQL condition for due records, so that a partial index can be used. */
  readonly due?: string;
  /** Null if no lease is needed: the work completes in one transaction, and doing it twice is harmless. */
  readonly lease: LeaseRules | null;
  /** How to find records whose job was lost; null if a lost job needs no replacement. */
  readonly abandoned: {
    /** Column with the time of the last change. */
    readonly touched: string;
    /** SQL condition for an open record. */
    readonly open: string;
    readonly order: string;
    /** SQL `distinct on (…)`, if only one record of each group should get a new job. */
    readonly distinct?: string;
  } | null;
}

/** Declares a kind of work. Its literal types are inferred from the value. */
export function defineKind<const Table extends string, const Id extends string, const Queue extends string>(
  kind: WorkKind<Table, Id, Queue>,
): WorkKind<Table, Id, Queue> {
  return kind;
}

/** How most kinds of work find records whose job was lost. */
export const ABANDONED = { touched: 'updated_at', open: 'finished_at is null', order: 'created_at' } as const;
