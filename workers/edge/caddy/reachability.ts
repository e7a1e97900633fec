import { connect } from 'node:net';
import type { Endpoint } from './zone.js';

/** How long an answer waits for news of endpoints; Caddy lets all requests wait for it. */
const PATIENCE_MS = 20;

/**
 * Knows which endpoints take connections. Caddy 2.6 cannot send a body to another replica once one refused it, so that a
 * dead replica must not be named to it at all.
 */
export class Reachability {
  readonly #connectMs: number;
  readonly #silent = new Set<string>();
  readonly #knocking = new Set<string>();

  constructor(connectMs: number) {
    this.#connectMs = connectMs;
  }

  /** Those that take connections, as far as it can be said in a moment. */
  async among(endpoints: readonly Endpoint[]): Promise<Endpoint[]> {
    const knocks = endpoints.filter(({ label }) => !this.#knocking.has(label)).map((endpoint) => this.#knock(endpoint));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS);
    });
    await Promise.race([Promise.all(knocks), late]);
    clearTimeout(timer);
    return endpoints.filter(({ label }) => !this.#silent.has(label));
  }

  /** Forgets all but these. */
  keep(labels: ReadonlySet<string>): void {
    for (const label of this.#silent) if (!labels.has(label)) this.#silent.delete(label);
  }

  #knock({ label, address, port }: Endpoint): Promise<void> {
    this.#knocking.add(label);
    const news = new Promise<void>((resolve) => {
      const socket = connect({ host: address, port, timeout: this.#connectMs });
      const end = (silent: boolean) => {
        socket.destroy();
        this.#knocking.delete(label);
        if (silent) this.#silent.add(label);
        else this.#silent.delete(label);
        resolve();
      };
      socket.once('connect', () => end(false));
      socket.once('timeout', () => end(true));
      socket.once('error', () => end(true));
    });
    // Of one that was silent nothing better is expected.
    return this.#silent.has(label) ? Promise.resolve() : news;
  }
}
