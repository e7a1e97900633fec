import { type FSWatcher, watch } from 'node:fs';

/** The wait between the news of output and its copy, in milliseconds: short after a pause, longer while output goes on. */
const FIRST_MS = 8;
const LAST_MS = 250;

/** The wait before the next copy. `sinceMs` is the time since the last one, which came after `waitMs`; in milliseconds. */
export function nextWaitMs(sinceMs: number, waitMs: number): number {
  return sinceMs > waitMs * 2 ? FIRST_MS : Math.min(LAST_MS, waitMs * 2);
}

/**
 * Watches the output file of a replica and calls `copy` soon after something was written to it. Calls never overlap. If the
 * system cannot watch the file, or `copy` fails, the caller's own timer copies the output.
 */
export class OutputWatch {
  readonly #file: string;
  readonly #copy: () => Promise<void>;
  #watcher: FSWatcher | null = null;
  #timer: NodeJS.Timeout | null = null;
  #copying = false;
  #again = false;
  #waitMs = FIRST_MS;
  #copiedAt = 0;

  constructor(file: string, copy: () => Promise<void>) {
    this.#file = file;
    this.#copy = copy;
  }

  get active(): boolean {
    return this.#watcher !== null;
  }

  /** Begins to watch, unless it does. */
  open(): void {
    if (this.#watcher !== null) return;
    try {
      this.#watcher = watch(this.#file, { persistent: false }, () => this.#news());
      this.#watcher.on('error', () => this.close());
    } catch {
      // There is no file yet, or the system has no more watches.
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #news(): void {
    if (this.#copying) this.#again = true;
    else this.#timer ??= this.#wait();
  }

  #wait(): NodeJS.Timeout {
    this.#waitMs = nextWaitMs(performance.now() - this.#copiedAt, this.#waitMs);
    return setTimeout(() => {
      this.#timer = null;
      void this.#run();
    }, this.#waitMs).unref();
  }

  async #run(): Promise<void> {
    this.#copying = true;
    this.#again = false;
    await this.#copy().catch(() => undefined);
    this.#copying = false;
    this.#copiedAt = performance.now();
    if (this.#again && this.active) this.#news();
  }
}
