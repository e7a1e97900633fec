import { type Db, isRefusal, refusalReason, type Transaction } from '../../shared/core/database/database-client.js';
import { makeDue } from '../../shared/engine/due-records.js';
import { LOG_BATCHES } from '../../shared/logs/kind.js';
import type { LogLevel, LogLine, LogSource } from '../../shared/logs/model.js';
import type { Dispatcher } from '../../shared/queues/dispatcher.js';
import { getService } from '../../shared/services/store.js';
import { Masker } from '../masking/masker.js';
import { type NewLogBatch, oldestBatch } from './batch-store.js';
import { ingestLogs } from './ingest-batches.js';
import { batchesOf, storeBatches, storeLines } from './store-lines.js';

const FLUSH_MS = 25;
const FLUSH_LINES = 500;
const FLUSH_BYTES = 256 * 1024;

export interface ChannelOptions {
  serviceId: string;
  deploymentId: string;
  runId?: string;
  masker: Masker;
}

/** Collects a worker's log lines: masks them, batches them, and stores each batch. */
export class LogSink {
  readonly #db: Db;
  readonly #dispatcher: Pick<Dispatcher, 'wakeLogs'>;

  constructor(db: Db, dispatcher: Pick<Dispatcher, 'wakeLogs'>) {
    this.#db = db;
    this.#dispatcher = dispatcher;
  }

  /** Opens a deployment's log, which must be closed before the deployment's terminal state is written. */
  open(options: ChannelOptions): LogChannel {
    return new LogChannel(options, this.#db, this.#dispatcher);
  }

  /** Writes one line to a deployment's log. A line that may contain secrets needs the `masker`. */
  async say(
    { masker = new Masker([]), ...owner }: Omit<ChannelOptions, 'masker'> & { masker?: Masker },
    message: string,
    level: LogLevel = 'info',
  ): Promise<void> {
    const channel = this.open({ ...owner, masker });
    await channel.write('system', message, level);
    await channel.close();
  }

  /** Writes a line to the log of a service's live deployment, if there is one. */
  async sayToLive(serviceId: string, message: string, level: LogLevel = 'info'): Promise<void> {
    const deploymentId = (await getService(this.#db, serviceId))?.live_deployment_id;
    if (deploymentId) await this.say({ serviceId, deploymentId }, message, level);
  }

  /** Stores a batch. Until the caller's transaction commits, no other line of the service can be stored. */
  async append(batch: NewLogBatch, trx: Transaction): Promise<void> {
    if (await storeLines(trx, batch)) return;
    // If the transaction fails, its caller handles the error, and there is no batch to dispatch.
    trx.executionPromise.then(
      () => this.#dispatcher.wakeLogs(),
      () => undefined,
    );
  }

  /** Schedules another job if batches of the service still wait. */
  async announceRest(serviceId: string): Promise<void> {
    const batch = await oldestBatch(this.#db, serviceId);
    if (!batch) return;
    if (await makeDue(this.#db, LOG_BATCHES, batch)) this.#dispatcher.wakeLogs();
  }
}

/** The log of one deployment. Writers wait while a full batch is being stored. */
export class LogChannel {
  readonly #options: ChannelOptions;
  readonly #db: Db;
  readonly #dispatcher: Pick<Dispatcher, 'wakeLogs'>;
  #lines: (LogLine & { source: LogSource })[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #storing: Promise<void> = Promise.resolve();
  /** True if earlier lines of this log may not be stored yet. */
  #waits = false;

  constructor(options: ChannelOptions, db: Db, dispatcher: Pick<Dispatcher, 'wakeLogs'>) {
    this.#options = options;
    this.#db = db;
    this.#dispatcher = dispatcher;
  }

  /** Adds one line. Resolves at once unless the batch is full. */
  async write(source: LogSource, message: string, level: LogLevel = 'info'): Promise<void> {
    const text = this.mask(message);
    this.#lines.push({ source, level, message: text, timestamp: new Date().toISOString() });
    this.#bytes += text.length;
    if (this.#lines.length >= FLUSH_LINES || this.#bytes >= FLUSH_BYTES) await this.flush();
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), FLUSH_MS);
  }

  get masker(): Masker {
    return this.#options.masker;
  }

  mask(text: string): string {
    return this.#options.masker.mask(printable(text));
  }

  /** Stores the buffered lines. If that fails, the next flush stores them first. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#storing = this.#storing.catch(() => undefined).then(() => this.#store());
    await this.#storing;
  }

  /** Stores the buffered lines and assigns ids to all, so that the log is complete once the deployment has ended. */
  async close(): Promise<void> {
    await this.flush();
    if (this.#waits) await ingestLogs(this.#db, this.#options.serviceId);
    this.#waits = false;
  }

  async #store(): Promise<void> {
    if (this.#lines.length === 0) return;
    const [lines, bytes] = [this.#lines, this.#bytes];
    this.#lines = [];
    this.#bytes = 0;
    const batches = batchesOf(this.#options, lines);
    try {
      await this.#put(batches);
    } catch (error) {
      if (isRefusal(error)) return this.#put(batches.map((batch) => leftOut(batch, error)));
      this.#lines = [...lines, ...this.#lines];
      this.#bytes += bytes;
      throw error;
    }
  }

  async #put(batches: readonly NewLogBatch[]): Promise<void> {
    this.#waits = !(await storeBatches(this.#db, batches));
    if (this.#waits) this.#dispatcher.wakeLogs();
  }
}

/**
 * Replaces lines that the database refuses by a note. Otherwise they would be retried forever and block other lines.
 */
export function leftOut<T extends { lines: LogLine[] }>(batch: T, error: unknown): T {
  const message = `${batch.lines.length} lines could not be stored and are left out here (${refusalReason(error)})`;
  return { ...batch, lines: [{ level: 'warn', message, timestamp: new Date().toISOString() }] };
}

/** Replaces each NUL, which PostgreSQL cannot store, and each lone surrogate with U+FFFD. */
export function printable(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '\ufffd');
}
