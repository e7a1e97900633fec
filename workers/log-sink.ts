import type { Db, Transaction } from '../shared/db/client.js';
import { ingestLogs, insertLogBatch, type NewLogBatch } from '../shared/db/log-batches.js';
import type { LogLevel, LogLine, LogSource } from '../shared/domain/log.js';
import { errorMessage } from '../shared/errors.js';
import type { Logger } from '../shared/log.js';
import type { Engine } from '../shared/queues/engine.js';
import type { Masker } from '../shared/secrets/mask.js';

const FLUSH_MS = 100;
const FLUSH_LINES = 500;
const FLUSH_BYTES = 256 * 1024;

export interface ChannelOptions {
  serviceId: string;
  deploymentId: string;
  masker: Masker;
}

/** Where the worker's lines go on their way into the log: batched, masked, stored before they are announced. */
export class LogSink {
  readonly #db: Db;
  readonly #engine: Engine;
  readonly #log: Logger;

  constructor(db: Db, engine: Engine, log: Logger) {
    this.#db = db;
    this.#engine = engine;
    this.#log = log;
  }

  /** Opens the log of one deployment. Close it before the deployment's terminal state is written. */
  open(options: ChannelOptions): LogChannel {
    return new LogChannel(options, {
      store: async (batch) => {
        await this.#announce(await insertLogBatch(this.#db, batch));
      },
      ingest: async () => {
        await ingestLogs(this.#db, options.serviceId);
      },
    });
  }

  /** Stores a batch in the caller's transaction and announces it after the commit. */
  async append(batch: NewLogBatch, trx: Transaction): Promise<void> {
    const id = await insertLogBatch(trx, batch);
    // A transaction that fails is its owner's to handle; here it only means that there is nothing to announce.
    trx.executionPromise.then(
      () => this.#announce(id),
      () => undefined,
    );
  }

  /** The batch is stored; where the queue is away the sweep announces it. */
  async #announce(batchId: string): Promise<void> {
    try {
      await this.#engine.add([{ queue: 'log-ingest', recordId: batchId, dispatch: 1, payload: { batchId } }]);
    } catch (error) {
      this.#log.warn({ batchId }, `log batch not announced, the sweep will do it: ${errorMessage(error)}`);
    }
  }
}

interface ChannelTarget {
  store(batch: NewLogBatch): Promise<void>;
  ingest(): Promise<void>;
}

/** The log of one deployment. Lines keep their order; a writer is held back while a full batch is being stored. */
export class LogChannel {
  readonly #options: ChannelOptions;
  readonly #target: ChannelTarget;
  #source: LogSource = 'system';
  #lines: LogLine[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #storing: Promise<void> = Promise.resolve();

  constructor(options: ChannelOptions, target: ChannelTarget) {
    this.#options = options;
    this.#target = target;
  }

  /** Takes one line. Resolves at once unless the batch is full. */
  async write(source: LogSource, message: string, level: LogLevel = 'info'): Promise<void> {
    if (source !== this.#source) {
      await this.flush();
      this.#source = source;
    }
    const text = this.mask(message);
    this.#lines.push({ level, message: text, timestamp: new Date().toISOString() });
    this.#bytes += text.length;
    if (this.#lines.length >= FLUSH_LINES || this.#bytes >= FLUSH_BYTES) await this.flush();
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), FLUSH_MS);
  }

  get masker(): Masker {
    return this.#options.masker;
  }

  /** A text as this log would store it: without secret values. */
  mask(text: string): string {
    return this.#options.masker.mask(printable(text));
  }

  /** Stores what is buffered. A batch that could not be stored stays first in line for the next flush. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#storing = this.#storing.catch(() => undefined).then(() => this.#store());
    await this.#storing;
  }

  /** Stores what is buffered and gives every line its id, so that who sees the deployment's end can read its whole log. */
  async close(): Promise<void> {
    await this.flush();
    await this.#target.ingest();
  }

  async #store(): Promise<void> {
    if (this.#lines.length === 0) return;
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    const { serviceId, deploymentId } = this.#options;
    try {
      await this.#target.store({ serviceId, deploymentId, source: this.#source, lines });
    } catch (error) {
      this.#lines = [...lines, ...this.#lines];
      throw error;
    }
  }
}

/** PostgreSQL stores no NUL and UTF-8 has no lone surrogates; both become the replacement character. */
export function printable(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '\ufffd');
}
