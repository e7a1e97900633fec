/** How often the jobs of a queue are tried, and which finished jobs are kept. */
export interface QueueDefinition {
  /** Tries of one job before it fails for good. The reconciler may still make a new job for its record. */
  attempts: number;
  /** Waits between tries, in milliseconds: constant, or doubled each time. */
  backoff: { type: 'fixed' | 'exponential'; delay: number };
  /** How many jobs of the queue a worker runs at the same time, unless its settings say otherwise. */
  slots: number;
  /** How many finished jobs are kept for the dashboard, and for how many seconds. */
  keepCompleted: { count: number; age: number };
  keepFailed: { count: number; age: number };
}

export const HOUR_SECONDS = 3600;
export const DAY_SECONDS = 24 * HOUR_SECONDS;

/** The queue settings for records whose progress a person watches. */
export const RECORD_QUEUE: QueueDefinition = {
  // The tries take two minutes, enough for an engine to come back after a restart of its host. A cancellation may have
  // to wait for the next try, so the delays do not grow.
  attempts: 40,
  backoff: { type: 'fixed', delay: 3000 },
  slots: 4,
  keepCompleted: { count: 1000, age: 7 * DAY_SECONDS },
  keepFailed: { count: 2000, age: 14 * DAY_SECONDS },
};

/** The events that can happen in one state, and the states that follow: one row of a table of states. */
export type Transitions = Readonly<Partial<Record<string, string>>>;

/** A table of states. A state without events is an end. */
export type States = Readonly<Record<string, Transitions>>;

/** How workers lease the records of one kind of work. */
interface LeaseRules {
  states: States;
  /** The columns that the engine's statements return; these statements are then prepared. If absent, all columns. */
  columns?: readonly string[];
  /** SQL: what a claim sets besides the lease. */
  onClaim?: string;
  /** SQL: assignments that every event adds to its update, except `claimed`, `released` and `handedBack`. */
  onEvent?: string;
  /** Column → SQL of the value that it gets when a record ends. */
  onEnd?: Readonly<Record<string, string>>;
  /**
   * SQL: a statement that runs together with the one that ends records. It reads the rows of `records` whose
   * `finished_at` is set.
   */
  ended?: (records: string) => string;
  /** True if `cancel_requested_at` asks a worker to stop. */
  cancellable?: boolean;
  /**
   * SQL: a condition on a record's columns. In each workspace, workers hold only one of the records that meet it at a
   * time. `true` covers all records.
   */
  aloneInWorkspace?: string;
}

/** Columns that the table of every kind of work has. */
export interface DueColumns {
  id: string;
  /** When the record needs a job; null if it needs none. */
  due_at: Date | null;
  /** How many jobs were made for the record. The number is part of the job's id. */
  dispatches: number;
  created_at: Date;
}

/** Columns of the table of every kind of work that has leases. */
export interface LeasedColumns<Status extends string = string> extends DueColumns {
  workspace_id: string;
  status: Status;
  error: string;
  /** Raised by each claim. Every write of a worker names its fence, so that a replaced worker changes nothing. */
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  updated_at: Date;
  finished_at: Date | null;
}

/**
 * One kind of background work. Its statements, jobs and queues are derived from this value. Its table has `DueColumns`
 * or, with leases, `LeasedColumns`.
 */
export interface WorkKind<Table extends string = string, Id extends string = string, Queue extends string = string> {
  readonly table: Table;
  /** The name of the payload's only field, the record's id. */
  readonly payload: Id;
  readonly queues: Readonly<Record<Queue, QueueDefinition>>;
  /** If this kind of work has several queues: the column that selects one, and the queue of each value. */
  readonly queueBy?: { readonly column: string; readonly queues: Readonly<Record<string, Queue>> };
  /** SQL: the records that wait for admission. Without it, a record is due when it is stored. */
  readonly waiting?: string;
  /** SQL: a further condition of a due record, for a partial index. */
  readonly due?: string;
  /** Null if no lease is needed: the work ends in one transaction, and doing it twice is harmless. */
  readonly lease: LeaseRules | null;
  /** Finds records whose job is lost; null if a lost job needs no replacement. */
  readonly abandoned: {
    /** The column with the time of the last change. */
    readonly touched: string;
    /** SQL: the condition of an open record. */
    readonly open: string;
    readonly order: string;
    /** SQL, `distinct on (…)`: only one record of each group gets a new job. */
    readonly distinct?: string;
  } | null;
}

/** Declares a kind of work, and infers its type from the value. */
export function defineKind<const Table extends string, const Id extends string, const Queue extends string>(
  kind: WorkKind<Table, Id, Queue>,
): WorkKind<Table, Id, Queue> {
  return kind;
}

/** How most kinds find records whose job is lost. */
export const ABANDONED = { touched: 'updated_at', open: 'finished_at is null', order: 'created_at' } as const;
