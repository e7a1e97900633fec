import { type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { onAbort } from '../../shared/core/on-abort.js';
import type { Engine } from '../../shared/queues/queue-engine.js';
import { type Payloads, QUEUE_NAMES, QUEUES, type QueueName } from '../../shared/queues/work-catalog.js';
import { Interrupted, JobFailed } from '../failures/interruption-errors.js';
import { printable } from '../logs/log-sink.js';
import type { JobDeps } from '../worker-deps.js';
import type { JobHelpers } from './job-helpers.js';

/**
 * A job's lock in the queue expires after this time without renewal. Together with the interval below, it bounds how
 * long a dead worker's job waits.
 */
const LOCK_MS = 5000;
const STALLED_CHECK_MS = 2500;
/** Seconds after which an idle worker asks for jobs. A new job or a lost connection wakes it sooner. */
const DRAINED_S = 10;
/**
 * How often a job may be taken from a dead worker. High, because the job's record decides when to give up, not the
 * queue.
 */
const MAX_STALLED = 50;

export interface RunningJob {
  queue: QueueName;
  jobId: string;
  since: string;
}

/** Runs one job. Returns the outcome in a few words, which the dashboard shows. */
export type JobHandler<N extends QueueName> = (
  deps: JobDeps,
  payload: Payloads[N],
  helpers: JobHelpers,
) => Promise<string>;

export type JobHandlers = { readonly [N in QueueName]: JobHandler<N> };

/** This process's BullMQ Workers, one for each queue of the catalog. */
export class WorkerPool {
  readonly #deps: JobDeps;
  readonly #log: Logger;
  readonly #workers: Worker[];
  readonly #running = new Map<string, RunningJob>();
  readonly #handlers: JobHandlers;
  #closing = false;

  constructor(
    deps: JobDeps,
    engine: Engine,
    log: Logger,
    slots: Partial<Record<QueueName, number>>,
    handlers: JobHandlers,
  ) {
    this.#deps = deps;
    this.#handlers = handlers;
    this.#log = log;
    this.#workers = QUEUE_NAMES.map((queue) => this.#createWorker(queue, engine, slots[queue] ?? QUEUES[queue].slots));
  }

  get running(): RunningJob[] {
    return [...this.#running.values()];
  }

  /** Takes no more jobs, hands running ones over to other workers, and waits until they have stopped. */
  async close(): Promise<void> {
    this.#closing = true;
    const closing = Promise.all(this.#workers.map((worker) => worker.close()));
    // close() must mark the workers as closing before their jobs go back, or the workers would take these jobs again.
    await Promise.resolve();
    for (const worker of this.#workers) worker.cancelAllJobs('shutdown');
    await closing;
  }

  #createWorker(queue: QueueName, engine: Engine, concurrency: number): Worker {
    const { connection, backendFactory } = engine.workerConnection();
    const worker = new Worker(
      queue,
      (job: Job, token?: string, signal?: AbortSignal) => this.#process(queue, job, token, signal),
      {
        connection,
        concurrency,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        maxStalledCount: MAX_STALLED,
        drainDelay: DRAINED_S,
      },
      backendFactory,
    );
    worker.on('error', (error) => this.#log.warn({ queue }, errorMessage(error)));
    return worker;
  }

  async #process(
    queue: QueueName,
    job: Job,
    token: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const id = job.id ?? '';
    const log = this.#log.child({ queue, jobId: id });
    // A worker that was waiting for a job when it was closed may still get one.
    if (this.#closing) return this.#end(job, token, new Interrupted('shutdown'), log);
    this.#running.set(id, { queue, jobId: id, since: new Date().toISOString() });
    const shutdown = new AbortController();
    if (signal) onAbort(signal, () => shutdown.abort(new Interrupted('shutdown')));
    const reports = new JobReports(job, log);
    try {
      const handler = this.#handlers[queue] as JobHandler<QueueName>;
      const outcome = await handler(this.#deps, job.data as Payloads[QueueName], {
        log,
        signal: shutdown.signal,
        firstAttempt: job.attemptsMade === 0,
        lastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
        report: (line) => reports.add(line),
      });
      log.debug({ outcome }, 'job done');
      return outcome;
    } catch (error) {
      return await this.#end(job, token, error, log);
    } finally {
      reports.jobEnds();
      this.#running.delete(id);
    }
  }

  /** Tells BullMQ what to do after an error: the job is given back, failed for good, or tried again. */
  async #end(job: Job, token: string | undefined, error: unknown, log: Logger): Promise<never> {
    if (error instanceof Interrupted && error.why === 'shutdown') {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const message = printable(errorMessage(error));
    if (error instanceof JobFailed) {
      log.info(`failed: ${message}`);
      throw new UnrecoverableError(message);
    }
    log.error({ err: error }, 'job failed, it is tried again');
    throw new Error(message);
  }
}

/** A job's lines are collected for this time, in milliseconds, and written together. */
const REPORT_MS = 300;

/** Writes lines to the job on the dashboard. A failure is logged and has no other effect. */
class JobReports {
  readonly #job: Job;
  readonly #log: Logger;
  #written: Promise<unknown> = Promise.resolve();
  #waiting: string[] = [];
  #now = '';
  #ended = false;

  constructor(job: Job, log: Logger) {
    this.#job = job;
    this.#log = log;
  }

  add(line: string): void {
    this.#log.info(line);
    this.#now = printable(line);
    if (this.#waiting.length === 0) setTimeout(() => this.#write(), REPORT_MS);
    this.#waiting.push(`${new Date().toISOString()} ${this.#now}`);
  }

  /** Stops publishing the job's progress. Its lines are still written. */
  jobEnds(): void {
    this.#ended = true;
  }

  #write(): void {
    const lines = this.#waiting;
    this.#waiting = [];
    this.#written = this.#written
      .then(() => Promise.all([this.#job.log(lines.join('\n')), ...this.#progress()]))
      .catch((error) => this.#log.warn(`the dashboard could not be updated: ${errorMessage(error)}`));
  }

  #progress(): Promise<void>[] {
    return this.#ended ? [] : [this.#job.updateProgress({ now: this.#now })];
  }
}
