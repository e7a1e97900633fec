const POLL_INTERVAL_MS = 15_000;
const MIN_GAIN_BYTES = 48 * 1024 * 1024;
const MAX_UTILIZATION = 0.1;

/**
 * Collects garbage while the process is idle. Without this, V8 keeps the memory of a burst: 120 MiB after a build that
 * printed 500 MB. Does nothing without `--expose-gc`.
 */
export class IdleMemory {
  readonly #running: () => number;
  #floor = Number.POSITIVE_INFINITY;
  #elu = performance.eventLoopUtilization();
  #timer: NodeJS.Timeout | undefined;

  /** `running` returns the number of running tasks. */
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
