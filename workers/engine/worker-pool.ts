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

/** The job of a dead worker waits until its lock expires and the next check for stalled jobs finds it. */
const LOCK_MS = 5000;
const STALLED_CHECK_MS = 2500;
/**
 * BullMQ skips a check that comes sooner than this after the previous check. This time is shorter than
 * `STALLED_CHECK_MS`, because timers may fire early.
 */
const STALLED_THROTTLE_MS = 2000;
/** How many times a job is recovered from dead workers: many, because the job's record decides when to give up. */
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

/** Runs a BullMQ Worker for each queue. To save queries, only the leader looks for jobs of dead workers. */
export class WorkerPool {
  readonly #deps: JobDeps;
  readonly #log: Logger;
  readonly #workers: Worker[];
  readonly #running = new Map<string, RunningJob>();
  readonly #handlers: JobHandlers;
  readonly #engine: Engine;
  readonly #leadership: { readonly leading: boolean };
  readonly #timer: NodeJS.Timeout;
  #checking: Promise<void> | null = null;
  #closing = false;

  constructor(
    deps: JobDeps,
    engine: Engine,
    log: Logger,
    slots: Partial<Record<QueueName, number>>,
    handlers: JobHandlers,
    leadership: { readonly leading: boolean } = { leading: true },
  ) {
    this.#engine = engine;
    this.#leadership = leadership;
    this.#deps = deps;
    this.#handlers = handlers;
    this.#log = log;
    this.#workers = QUEUE_NAMES.map((queue) => this.#createWorker(queue, engine, slots[queue] ?? QUEUES[queue].slots));
    this.#timer = setInterval(() => this.#checkStalled(), STALLED_CHECK_MS);
  }

  get running(): RunningJob[] {
    return [...this.#running.values()];
  }

  /** Stops taking jobs, hands running jobs over to other workers, and waits until they have stopped. */
  async close(): Promise<void> {
    this.#closing = true;
    clearInterval(this.#timer);
    const closing = Promise.all([this.#checking, ...this.#workers.map((worker) => worker.close())]);
    // Yield once, so that close() marks the workers as closing. Otherwise they would take the cancelled jobs again.
    await Promise.resolve();
    for (const worker of this.#workers) worker.cancelAllJobs('shutdown');
    await closing;
  }

  #createWorker(queue: QueueName, engine: Engine, concurrency: number): Worker {
    const { connection, backendFactory, drainDelay } = engine.workerConnection();
    const worker = new Worker(
      queue,
      (job: Job, token?: string, signal?: AbortSignal) => this.#process(queue, job, token, signal),
      {
        connection,
        concurrency,
        lockDuration: LOCK_MS,
        skipStalledCheck: true,
        stalledInterval: STALLED_THROTTLE_MS,
        maxStalledCount: MAX_STALLED,
        drainDelay,
      },
      backendFactory,
    );
    worker.on('error', (error) => this.#log.warn({ queue }, errorMessage(error)));
    return worker;
  }

  /** Makes the jobs of dead workers wait again, and wakes workers for delayed jobs that are due. */
  #checkStalled(): void {
    if (!this.#leadership.leading) return;
    this.#checking ??= Promise.all([
      ...this.#workers.map(({ backend }) => backend.moveStalledJobsToWait()),
      this.#engine.announceDelayed(),
    ])
      .then(() => undefined)
      .catch((error: unknown) => this.#log.warn(`stalled jobs were not looked for: ${errorMessage(error)}`))
      .finally(() => {
        this.#checking = null;
      });
  }

  async #process(
    queue: QueueName,
    job: Job,
    token: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const id = job.id ?? '';
    const log = this.#log.child({ queue, jobId: id });
    // A BullMQ Worker that was waiting for a job when it was closed may still get one.
    if (this.#closing) return this.#end(job, token, new Interrupted('shutdown'), log);
    this.#running.set(id, { queue, jobId: id, since: new Date().toISOString() });
    const shutdown = new AbortController();
    if (signal) onAbort(signal, () => shutdown.abort(new Interrupted('shutdown')));
    const reports = jobReports(job, log);
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

  /** Makes BullMQ return the job to the queue, fail it for good, or retry it. Always throws. */
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

/** How long a job's lines are collected before they are written together. */
const REPORT_MS = 300;

function jobReports(job: Job, log: Logger) {
  let written: Promise<unknown> = Promise.resolve();
  let waiting: string[] = [];
  let now = '';
  let hasEnded = false;
  const write = () => {
    const lines = waiting;
    waiting = [];
    written = written
      .then(() => Promise.all([job.log(lines.join('\n')), hasEnded ? null : job.updateProgress({ now })]))
      .catch((error) => log.warn(`the dashboard could not be updated: ${errorMessage(error)}`));
  };
  return {
    add(line: string): void {
      log.info(line);
      now = printable(line);
      if (waiting.length === 0) setTimeout(write, REPORT_MS);
      waiting.push(`${new Date().toISOString()} ${now}`);
    },
    jobEnds(): void {
      hasEnded = true;
    },
  };
}
