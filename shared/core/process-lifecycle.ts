import { errorMessage } from './error-registry.js';
import type { Logger } from './log.js';
import { withTimeLimit } from './time-limit.js';

export interface Closer {
  name: string;
  close: () => Promise<unknown> | unknown;
  maxMs: number;
}

/** A second signal in this time is ignored, because npm repeats a Ctrl-C that the terminal has already sent. */
const SAME_SIGNAL_MS = 1000;

/**
 * Shuts a process down after a signal, an uncaught error or `end`. Closers run one after another, the last registered
 * first, all within one deadline. A signal repeated after more than a second exits immediately.
 */
export class Lifecycle {
  readonly #log: Logger;
  readonly #exit: (code: number) => void;
  readonly #deadlineMs: number;
  readonly #closers: Closer[] = [];
  #ending = false;
  #reason = '';

  constructor(log: Logger, exit: (code: number) => void, deadlineMs = 30_000) {
    this.#log = log;
    this.#exit = exit;
    this.#deadlineMs = deadlineMs;
  }

  get ending(): boolean {
    return this.#ending;
  }

  /** The signal's name, or what failed. */
  get reason(): string {
    return this.#reason;
  }

  /** Registers a closer. Set `maxMs` if a tenant's work can delay it, so that time remains for the other closers. */
  onEnd(name: string, close: Closer['close'], maxMs = this.#deadlineMs): void {
    this.#closers.unshift({ name, close, maxMs });
  }

  /** Shuts down at a termination signal, and at an uncaught error that `contained` does not handle. */
  watchSignals(contained: (error: unknown) => boolean = () => false): void {
    let first = 0;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (first === 0) first = performance.now();
        else if (performance.now() - first > SAME_SIGNAL_MS) this.#exit(130);
        void this.end(signal, 0);
      });
    }
    process.on('uncaughtException', (error) => {
      if (!contained(error)) void this.#crash('uncaught exception', error);
    });
    process.on('unhandledRejection', (error) => {
      if (!contained(error)) void this.#crash('unhandled rejection', error);
    });
  }

  async end(reason: string, code: number): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    this.#reason = reason;
    this.#log.info({ reason }, 'ending');
    const timer = setTimeout(() => {
      try {
        this.#log.error({ reason }, 'did not end within the deadline');
      } finally {
        this.#exit(1);
      }
    }, this.#deadlineMs);
    for (const { name, close, maxMs } of this.#closers) {
      try {
        await withTimeLimit(Promise.resolve(close()), maxMs, () => new Error(`it took longer than ${maxMs} ms`));
      } catch (error) {
        this.#log.error({ closer: name, err: error }, `closing failed: ${errorMessage(error)}`);
      }
    }
    clearTimeout(timer);
    this.#exit(code);
  }

  async #crash(what: string, error: unknown): Promise<void> {
    this.#log.fatal({ err: error }, what);
    await this.end(what, 1);
  }
}
