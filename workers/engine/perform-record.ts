import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { makeDue } from '../../shared/engine/due-records.js';
import type { WorkKind } from '../../shared/engine/kind.js';
import {
  type Change,
  type ClaimRules,
  claim,
  openRecord,
  statesOf,
  transition,
  type WorkRow,
} from '../../shared/engine/transition.js';
import { failureOf } from '../failures/classify-failure.js';
import { Interrupted, JobFailed } from '../failures/interruption-errors.js';
import type { JobDeps } from '../worker-deps.js';
import { type Action, decide } from './decide-action.js';
import type { JobHelpers } from './job-helpers.js';

const TURN_MS = 2_000;

export interface Work<Row extends WorkRow> {
  /** The record after its last event. */
  record: Row;
  /** Aborts with `Interrupted`: cancelled, superseded or shutdown. */
  signal: AbortSignal;
  helpers: JobHelpers;
}

export type Outcome =
  /** An event of the kind's transition table, with the columns to change. The dashboard shows `says`. */
  | ({ event: string; says?: string } & Omit<Change, 'dueInMs'>)
  /** The work cannot be done now, or not on this host. The record becomes due again after `laterInMs`. */
  | { laterInMs: number; says: string };

type End = Extract<Action, { type: 'end' }>;

/** Implements one kind of work. Handlers do not write statuses, leases or jobs; the engine does. */
export interface Handler<Row extends WorkRow> {
  kind: WorkKind;
  claim?: ClaimRules;
  /** Does the work for the record's current state. Called again after each event that keeps the lease. */
  run(work: Work<Row>): Promise<Outcome>;
  /** Returns the text for the record's `error`. Without this method, the text is the cause of the failure. */
  describe?(record: Row, cause: string): string;
  mask?(text: string): string;
  /** Columns to set on a failure or a cancellation, besides `error`. */
  onEnd?: Change['set'];
  /** Called before the record is released to other workers. */
  beforeLeaving?(work: Work<Row>, action: Exclude<Action, End>): Promise<void>;
  /** Called before a failure or a cancellation is recorded. Stops everything that the work has started. */
  beforeEnd?(work: Work<Row>, end: End): Promise<void>;
  /** Called after this worker has recorded a failure or a cancellation. */
  afterEnd?(work: Work<Row>, end: End): Promise<void>;
  /** Called in the transaction of each event, except for `released` and `handedBack`, which only change the lease. */
  onEvent?(trx: Transaction, record: Row): Promise<void>;
  failsJob?: boolean;
}

/**
 * Runs one job: claims its record, runs the handler and applies the outcome. Throws `JobFailed` for a recorded failure
 * if the handler has `failsJob`, and `Interrupted('shutdown')` for a record that another worker should continue. After
 * any other error the record stays open, and the queue retries the job.
 */
export async function perform<Row extends WorkRow>(
  deps: JobDeps,
  handler: Handler<Row>,
  id: string,
  helpers: JobHelpers,
): Promise<string> {
  const { kind } = handler;
  const record = await claim<Row>(deps.db, kind, id, deps.workerId, handler.claim);
  if (record === null) return waitForTurn(deps, kind, id);
  const lease = deps.leases.hold(kind, { id: record.id, fence: record.fence });
  const work: Work<Row> = { record, signal: AbortSignal.any([lease.signal, helpers.signal]), helpers };
  const state = () => statesOf(kind)[work.record.status] ?? {};
  try {
    for (;;) {
      work.signal.throwIfAborted();
      // The cancellation may have been requested while no worker held the record.
      if (work.record.cancel_requested_at && 'cancelled' in state()) throw new Interrupted('cancelled');
      const result = await recordOutcome(deps, handler, work, await handler.run(work));
      if (result !== null) return result;
    }
  } catch (error) {
    return await carryOut(deps, handler, work, decide(state(), failureOf(error, work.signal), helpers));
  } finally {
    lease.stop();
  }
}

/** Returns null if the worker still holds the record. */
async function recordOutcome<Row extends WorkRow>(
  { db }: JobDeps,
  handler: Handler<Row>,
  work: Work<Row>,
  outcome: Outcome,
): Promise<string | null> {
  const { kind } = handler;
  const { record } = work;
  if ('laterInMs' in outcome) {
    await transition(db, kind, record, 'released', { dueInMs: outcome.laterInMs });
    return outcome.says;
  }
  const moved = await applyEvent(db, handler, record, outcome.event, outcome);
  if (moved === null) throw await refusal(db, kind, record, outcome.event);
  work.record = { ...record, ...moved };
  return moved.worker_id === null ? (outcome.says ?? moved.status) : null;
}

async function refusal(db: Db, kind: WorkKind, { id, fence, status }: WorkRow, event: string): Promise<Error> {
  const current = await openRecord(db, kind, id);
  if (current?.fence !== fence) return new Interrupted('superseded');
  if (current.cancel_requested_at) return new Interrupted('cancelled');
  return new Error(`a record of ${kind.table} that is ${status} cannot be ${event} now`);
}

function applyEvent<Row extends WorkRow>(
  db: Db,
  { kind, onEvent }: Handler<Row>,
  record: Row,
  event: string,
  change: Change,
): Promise<Row | null> {
  if (onEvent === undefined) return transition<Row>(db, kind, record, event, change);
  return db.transaction(async (trx) => {
    const moved = await transition<Row>(trx, kind, record, event, change);
    if (moved !== null) await onEvent(trx, moved);
    return moved;
  });
}

async function carryOut<Row extends WorkRow>(
  { db }: JobDeps,
  handler: Handler<Row>,
  work: Work<Row>,
  action: Action,
): Promise<string> {
  const { kind } = handler;
  const { record, helpers } = work;
  if (action.type !== 'end') await handler.beforeLeaving?.(work, action);
  switch (action.type) {
    case 'leave':
      return 'superseded';
    case 'handOver':
      await transition(db, kind, record, 'released');
      throw new Interrupted('shutdown');
    case 'handBack':
      await transition(db, kind, record, 'handedBack').catch((error: unknown) =>
        helpers.log.warn(`a lease was not released, it expires: ${errorMessage(error)}`),
      );
      throw masked(handler, action.fault);
    case 'end': {
      const described = handler.describe?.(record, action.cause) ?? action.cause;
      const cause = handler.mask?.(described) ?? described;
      const end: End = { ...action, cause };
      await handler.beforeEnd?.(work, end);
      const ended = await applyEvent(db, handler, record, action.state, { set: { ...handler.onEnd, error: cause } });
      if (ended === null) return 'superseded';
      await handler.afterEnd?.(work, end);
      if (handler.failsJob && ended.status === 'failed') throw new JobFailed(cause);
      return ended.status;
    }
  }
}

/** Masks customers' secrets in a fault of the platform, because operators can read it. */
function masked({ mask }: Pick<Handler<WorkRow>, 'mask'>, fault: unknown): unknown {
  if (mask === undefined) return fault;
  const error = new Error(mask(errorMessage(fault)));
  if (fault instanceof Error && fault.stack !== undefined) error.stack = mask(fault.stack);
  return error;
}

/** Makes an open record due again if another record of its workspace is in progress. */
async function waitForTurn(deps: JobDeps, kind: WorkKind, id: string): Promise<string> {
  const open = kind.lease?.aloneInWorkspace === undefined ? null : await openRecord(deps.db, kind, id);
  if (open === null) return 'nothing to do';
  await makeDue(deps.db, kind, open, TURN_MS);
  return 'waits for another one of its workspace';
}
