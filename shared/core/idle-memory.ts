const POLL_INTERVAL_MS = 15_000;
/** Memory growth since the last garbage collection that makes another one worthwhile. */
const MIN_GAIN_BYTES = 48 * 1024 * 1024;
/** Maximum event loop utilization since the last check for the process to count as idle. */
const MAX_UTILIZATION = 0.1;

/**
 * Collects garbage while the process is idle. V8 keeps the memory of a burst (120 MiB after a build that printed 500
 * MB) until an allocation triggers a collection, which does not happen in an idle process. Does nothing without
 * `--expose-gc`.
 */
export class IdleMemory {
  readonly #running: () => number;
  #floor = Number.POSITIVE_INFINITY;
  #elu = performance.eventLoopUtilization();
  #timer: NodeJS.Timeout | undefined;

  /** `running` returns the number of running tasks. The process is idle only if it is 0. */
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

  /** Collects garbage if the process is idle and uses much more memory than after the last collection. */
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
