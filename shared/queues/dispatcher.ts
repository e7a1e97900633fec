import type { Db } from '../core/database/database-client.js';
import { errorMessage } from '../core/error-registry.js';
import type { Logger } from '../core/log.js';
import {
  admitDeployments,
  recordEngineUnreachable,
  recordWaitingReasons,
} from '../deployments/deployment-admission.js';
import { DEPLOYMENTS } from '../deployments/kind.js';
import { type AbandonedRecord, findAbandoned, makeDue, takeDue, waitingWork } from '../engine/due-records.js';
import type { WorkKind } from '../engine/kind.js';
import { LOG_BATCHES } from '../logs/kind.js';
import { RUNS } from '../runs/kind.js';
import { admitRuns } from '../runs/run-admission.js';
import type { Engine } from './queue-engine.js';
import { jobOf, KINDS } from './work-catalog.js';

/** How many due records one transaction hands to the queue. */
const BATCH = 200;
/** Records that have changed more recently are skipped, because their jobs may be on the way through the queue. */
const IDLE_SECONDS = 5;
const EXPLAIN_MS = 1000;

function kindOf(table: string): WorkKind {
  const kind = KINDS.find((one) => one.table === table);
  if (kind === undefined) throw new Error(`no kind of work has the table ${table}`);
  return kind;
}

/**
 * Hands work to the queue; nothing else does. A transaction that accepts work marks its record as due. After the commit the
 * dispatcher admits deployments and hands due records to BullMQ. It runs in every process. If one process crashes, the next run in
 * any other process continues.
 */
export class Dispatcher {
  readonly #db: Db;
  readonly #engine: Engine;
  readonly #everything: BackgroundRun;
  readonly #admission: BackgroundRun;
  readonly #logs: BackgroundRun;
  /** The number of the last deployment whose reason was recorded. */
  #explained = 0;
  #explainedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Db, engine: Engine, log: Logger) {
    this.#db = db;
    this.#engine = engine;
    const failed = (error: unknown) => log.warn(`dispatching failed, the sweep will try again: ${errorMessage(error)}`);
    this.#everything = new BackgroundRun(() => this.dispatch(), failed);
    this.#admission = new BackgroundRun(() => this.#admit(), failed);
    this.#logs = new BackgroundRun(() => this.#handOverAll(LOG_BATCHES), failed);
  }

  /** Starts a run of the dispatcher in the background. Calls during a run cause one more run. */
  wake(): void {
    this.#everything.wake();
  }

  /** Starts only a round of admission, because a slot has become free. */
  wakeAdmission(): void {
    this.#admission.wake();
  }

  /** Starts only a round for batches of log lines, which come often and never wait for admission. */
  wakeLogs(): void {
    this.#logs.wake();
  }

  /**
   * Admits deployments and runs, and hands over everything that is due. Throws if the database or the engine cannot be
   * reached.
   */
  async dispatch(): Promise<void> {
    const work = await waitingWork(this.#db, KINDS);
    const due = new Set(work.due);
    if (work.waiting.includes(DEPLOYMENTS.table)) await this.#admit();
    if (work.waiting.includes(RUNS.table) && (await this.#db.transaction((trx) => admitRuns(trx))) > 0)
      due.add(RUNS.table);
    await this.#reaching(async () => {
      for (const table of due) await this.#handOverAll(kindOf(table));
    });
  }

  async #admit(): Promise<void> {
    const admitted = await admitDeployments(this.#db);
    await this.#reaching(() =>
      this.#engine.add(admitted.map((id) => jobOf(DEPLOYMENTS, { id, dispatches: 1, kind: null }))),
    );
    await this.#explain();
  }

  /**
   * Runs work that needs the queue engine. If it fails, waiting deployments show that the engine cannot be reached.
   * Throws what the work throws.
   */
  async #reaching(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await recordEngineUnreachable(this.#db);
      throw error;
    }
  }

  /**
   * Makes a new job due for every open record that has lost its job, and returns what it repaired. Jobs are lost if
   * Redis was flushed, a job was removed by hand, or its tries were used up.
   */
  async reconcile(): Promise<string[]> {
    const mended: string[] = [];
    for (const record of await findAbandoned(this.#db, KINDS, IDLE_SECONDS)) {
      if (await this.#hasJob(record)) continue;
      if (await makeDue(this.#db, kindOf(record.table), record)) {
        mended.push(`${record.table} ${record.id} (dispatch ${record.dispatches + 1})`);
      }
    }
    if (mended.length > 0) await this.dispatch();
    return mended;
  }

  /** Waits for a run in progress. */
  async close(): Promise<void> {
    await Promise.all([this.#everything, this.#admission, this.#logs].map((run) => run.close()));
  }

  /**
   * Records why deployments wait, at most once a second, because only users read the reasons. The sweep records the
   * rest.
   */
  async #explain(): Promise<void> {
    const now = performance.now();
    if (now - this.#explainedAt < EXPLAIN_MS) return;
    this.#explainedAt = now;
    this.#explained = await recordWaitingReasons(this.#db, this.#explained);
  }

  #hasJob(record: AbandonedRecord): Promise<boolean> {
    const { queue, recordId, dispatch } = jobOf(kindOf(record.table), record);
    return this.#engine.isPending(queue, recordId, dispatch);
  }

  async #handOverAll(kind: WorkKind): Promise<void> {
    while ((await this.#handOver(kind)) === BATCH);
  }

  /**
   * Adds the jobs of due records before the transaction commits. After a crash in between, the records are still due,
   * and adding a job's id twice is harmless.
   */
  async #handOver(kind: WorkKind): Promise<number> {
    return this.#db.transaction(async (trx) => {
      const due = await takeDue(trx, kind, BATCH);
      if (due.length > 0) await this.#engine.add(due.map((record) => jobOf(kind, record)));
      return due.length;
    });
  }
}

/** Runs work in the background, one run at a time. Calls of `wake` during a run cause one more run. */
class BackgroundRun {
  readonly #work: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #running: Promise<void> | null = null;
  #again = false;

  constructor(work: () => Promise<void>, failed: (error: unknown) => void) {
    this.#work = work;
    this.#failed = failed;
  }

  wake(): void {
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = this.#work()
      .catch(this.#failed)
      .finally(() => {
        this.#running = null;
        if (!this.#again) return;
        this.#again = false;
        this.wake();
      });
  }

  async close(): Promise<void> {
    this.#again = false;
    await this.#running;
  }
}
