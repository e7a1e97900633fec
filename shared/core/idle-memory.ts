const POLL_INTERVAL_MS = 15_000;
/** A garbage collection is worthwhile if the process has grown by this much since the last collection. */
const MIN_GAIN_BYTES = 48 * 1024 * 1024;
/** The event loop may have worked for at most this share of the time since the last check. */
const MAX_UTILIZATION = 0.1;

/**
 * Collects garbage while the process is idle. V8 keeps the memory of a burst (120 MiB after a build that printed 500 MB)
 * until it has a reason to collect, and an idle process gives it none. Does nothing without `--expose-gc`.
 */
export class IdleMemory {
  readonly #running: () => number;
  #floor = Number.POSITIVE_INFINITY;
  #elu = performance.eventLoopUtilization();
  #timer: NodeJS.Timeout | undefined;

  /** `running` returns how many pieces of work the process has; with any, it is not idle. */
  constructor(running: () => number = () => 0) {
    this.#running = running;
  }

  start(): void {
    if (globalThis.gc === undefined) return;
    this.#timer = setInterval(() => this.look(), POLL_INTERVAL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Collects garbage if the process is idle and holds much more than after the last collection. */
  look(): void {
    const before = this.#elu;
    this.#elu = performance.eventLoopUtilization();
    const rss = process.memoryUsage.rss();
    const isIdle =
      this.#running() === 0 && performance.eventLoopUtilization(this.#elu, before).utilization < MAX_UTILIZATION;
    if (isIdle && rss > this.#floor + MIN_GAIN_BYTES) {
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      this.#floor = process.memoryUsage.rss();
    } else this.#floor = Math.min(this.#floor, rss);
  }
}
