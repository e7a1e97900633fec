import type { Platform } from '../support/platform.js';
import type { Failure } from './load.js';
import { persistently } from './worker-supervisor.js';

/** Kills the edge, and tells which failed requests its outages explain. */
export class EdgeOutages {
  readonly #platform: Platform;
  /** Times in milliseconds. Until the new edge is ready, `until` is infinity. */
  readonly #outages: { at: number; until: number }[] = [];

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  get count(): number {
    return this.#outages.length;
  }

  async strike(): Promise<void> {
    const edge = this.#platform.processes.find(({ name, ended }) => name === 'edge' && !ended);
    const outage = { at: Date.now(), until: Number.POSITIVE_INFINITY };
    this.#outages.push(outage);
    await edge?.stop('SIGKILL');
    await persistently(() => this.#platform.startEdge());
    outage.until = Date.now();
  }

  excuses({ begun, ended }: Failure): boolean {
    return this.#outages.some(({ at, until }) => ended >= at && begun <= until);
  }
}
