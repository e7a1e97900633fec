/** How the jobs of a queue are tried and kept. */
export interface QueueDefinition {
  /** Tries of one job before it stays failed; the reconciler may still make a new job for its record. */
  attempts: number;
  /** Waits between tries, in milliseconds: always the same, or twice the last. */
  backoff: { type: 'fixed' | 'exponential'; delay: number };
  /** Jobs that a worker runs at once, if its settings give no other number. */
  slots: number;
  /** Finished jobs kept for the dashboard. */
  keepCompleted: { count: number; age: number };
  keepFailed: { count: number; age: number };
}

export const HOUR_SECONDS = 3600;
export const DAY_SECONDS = 24 * HOUR_SECONDS;

/** The queue of records whose progress a person watches. */
export const RECORD_QUEUE: QueueDefinition = {
  // Two minutes, enough for an engine to come back when its host restarts. A cancellation may have to wait for the next
  // try, so the delays do not grow.
  attempts: 40,
  backoff: { type: 'fixed', delay: 3000 },
  slots: 4,
  keepCompleted: { count: 1000, age: 7 * DAY_SECONDS },
  keepFailed: { count: 2000, age: 14 * DAY_SECONDS },
};

/** What may happen in one state, and the state that follows: one row of a table of states. */
export type Transitions = Readonly<Partial<Record<string, string>>>;

/** A table of states. A state in which nothing may happen is an end. */
export type States = Readonly<Record<string, Transitions>>;

/** How workers hold the records of a kind. */
interface LeaseRules {
  states: States;
  /** The columns that the engine's statements return, which are then prepared. Absent for all. */
  columns?: readonly string[];
  /** SQL: what a claim sets beside the lease. */
  onClaim?: string;
  /** SQL: what each event sets, except the events of the lease. */
  onEvent?: string;
  /** SQL of columns that change with an end. */
  onEnd?: Readonly<Record<string, string>>;
  /** SQL: a statement that runs with the one that ends records. It reads those of `records` whose `finished_at` is set. */
  ended?: (records: string) => string;
  /** True if `cancel_requested_at` asks a worker to stop. */
  cancellable?: boolean;
  /**
   * SQL over the columns of a record: no two records of one workspace for which it is true are worked on at once. `true`
   * limits all records.
   */
  aloneInWorkspace?: string;
}

/** Columns of the table of every kind. */
export interface DueColumns {
  id: string;
  /** When the record needs a job; null if it needs none. */
  due_at: Date | null;
  /** How many jobs were made for the record. The number is part of the job's id. */
  dispatches: number;
  created_at: Date;
}

/** Columns of the table of a kind with leases. */
export interface LeasedColumns<Status extends string = string> extends DueColumns {
  workspace_id: string;
  status: Status;
  error: string;
  /** Raised by each claim. Every write of a worker names it. */
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  updated_at: Date;
  finished_at: Date | null;
}

/**
 * One kind of background work. The statements, jobs and queues of the kind are derived from this value. Its table has the
 * columns above.
 */
export interface WorkKind<Table extends string = string, Id extends string = string, Queue extends string = string> {
  readonly table: Table;
  /** The field of the payload that has the record's id. A payload has nothing else. */
  readonly payload: Id;
  readonly queues: Readonly<Record<Queue, QueueDefinition>>;
  /** If there are several queues: the column that selects one, and the queue of each value. */
  readonly queueBy?: { readonly column: string; readonly queues: Readonly<Record<string, Queue>> };
  /** SQL: the records that wait for admission. A record of a kind without it is due when it is stored. */
  readonly waiting?: string;
  /** SQL: a further condition of a due record, which an index of only some records needs. */
  readonly due?: string;
  /** Null if no lease protects the work: it ends in one transaction, and doing it twice is harmless. */
  readonly lease: LeaseRules | null;
  /** Finds records whose job is lost; null if a lost job needs no replacement. */
  readonly abandoned: {
    /** The column that has the time of the last change. */
    readonly touched: string;
    /** SQL: what identifies an open record. */
    readonly open: string;
    readonly order: string;
    /** SQL: one record of each group is enough. */
    readonly distinct?: string;
  } | null;
}

/** Declares a kind, and infers its type from the value. */
export function defineKind<const Table extends string, const Id extends string, const Queue extends string>(
  kind: WorkKind<Table, Id, Queue>,
): WorkKind<Table, Id, Queue> {
  return kind;
}

/** How records whose job is lost are found, for most kinds. */
export const ABANDONED = { touched: 'updated_at', open: 'finished_at is null', order: 'created_at' } as const;
