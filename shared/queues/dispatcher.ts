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

const BATCH = 200;
/** A record that changed within this time probably still has its job. */
const IDLE_SECONDS = 5;
const EXPLAIN_MS = 1000;

function kindOf(table: string): WorkKind {
  const kind = KINDS.find((one) => one.table === table);
  if (kind === undefined) throw new Error(`no kind of work has the table ${table}`);
  return kind;
}

/**
 * Admits deployments and enqueues a BullMQ job for each due record. It runs in every process, so that dispatching
 * continues if a process crashes.
 */
export class Dispatcher {
  readonly #db: Db;
  readonly #engine: Engine;
  readonly #everything: BackgroundRun;
  readonly #admission: BackgroundRun;
  readonly #logs: BackgroundRun;
  /** The result of the last call of `recordWaitingReasons`, from which the next call continues. */
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

  wake(): void {
    this.#everything.wake();
  }

  /** Starts only the admission of deployments, when a deployment slot has become free. */
  wakeAdmission(): void {
    this.#admission.wake();
  }

  /** Dispatches only batches of log lines, which are frequent and never wait for admission. */
  wakeLogs(): void {
    this.#logs.wake();
  }

  /** Admits deployments and runs, and enqueues jobs. Throws if the database or the queue engine is unreachable. */
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

  /** If `work` fails, waiting deployments show that the queue engine is unreachable. */
  async #reaching(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await recordEngineUnreachable(this.#db);
      throw error;
    }
  }

  /**
   * Makes open records due again if their jobs were lost, for example because Redis was flushed or all attempts failed.
   * Returns descriptions of these records.
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

  async close(): Promise<void> {
    await Promise.all([this.#everything, this.#admission, this.#logs].map((run) => run.close()));
  }

  /** Records why deployments wait, at most once per second, because only users read these reasons. */
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
   * Enqueues the jobs before the commit. If the process crashes in between, the records are still due, and enqueueing a
   * job id twice is harmless.
   */
  async #handOver(kind: WorkKind): Promise<number> {
    return this.#db.transaction(async (trx) => {
      const due = await takeDue(trx, kind, BATCH);
      if (due.length > 0) await this.#engine.add(due.map((record) => jobOf(kind, record)));
      return due.length;
    });
  }
}

/** Runs work in the background, one run at a time. If `wake` is called during a run, one more run follows. */
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
