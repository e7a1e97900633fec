import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import { type AdminApi, uninterrupted } from './admin-api.js';
import { type ConfigPart, withParts } from './config-part.js';

const POLL_INTERVAL_MS = 2_000;
/**
 * If Caddy has lost the edge's configuration in this many checks in a row, another process must be overwriting it. A
 * restart of Caddy causes only one loss.
 */
const FOUGHT_OVER = 3;

/**
 * Reconciles the edge's parts of Caddy's configuration, and changes nothing else in it. If Caddy loses them (after a
 * restart, or because another configuration was loaded), they are written again within seconds.
 */
export class ConfigKeeper {
  readonly #api: AdminApi;
  readonly #parts: readonly ConfigPart[];
  readonly #log: Logger;
  readonly #ended = new AbortController();
  #watch: Promise<void> = Promise.resolve();
  #writes = 0;
  #repairs = 0;
  #inRow = 0;
  #away = false;

  constructor(api: AdminApi, parts: readonly ConfigPart[], log: Logger) {
    this.#api = api;
    this.#parts = parts;
    this.#log = log;
  }

  /** Writes missing or different parts, then checks on a timer. Throws `CaddyError` if the first write fails. */
  async start(): Promise<void> {
    await uninterrupted(() => this.#ensure());
    this.#watch = this.#keep();
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#watch;
  }

  async #keep(): Promise<void> {
    for (;;) {
      await delay(POLL_INTERVAL_MS, undefined, { signal: this.#ended.signal }).catch(() => undefined);
      if (this.#ended.signal.aborted) return;
      try {
        const before = this.#writes;
        await uninterrupted(() => this.#ensure());
        if (this.#away) this.#log.info('Caddy answers again');
        this.#away = false;
        this.#inRow = this.#writes === before ? 0 : this.#inRow + 1;
        if (this.#inRow === 0) continue;
        this.#repairs += 1;
        if (this.#inRow === FOUGHT_OVER) {
          this.#log.error(
            'somebody else keeps writing over this configuration: does another edge process use the same Caddy? Give each one of its own (CADDY_ADMIN_URL)',
          );
        }
        this.#log.warn({ repairs: this.#repairs }, 'Caddy had lost the configuration of the edge; it is loaded again');
      } catch (error) {
        if (!this.#away) this.#log.error(`the edge cannot see to Caddy's configuration: ${errorMessage(error)}`);
        this.#away = true;
      }
    }
  }

  /**
   * Writes all parts that are missing or different. Makes one change, because each change costs connections: Caddy
   * opens new sockets for its servers, and the kernel resets connections that the old sockets have not accepted yet.
   * Safe to repeat.
   */
  async #ensure(): Promise<void> {
    const { value, etag } = await this.#api.config();
    const wanted = withParts(value, this.#parts);
    if (isDeepStrictEqual(value, wanted)) return;
    this.#writes += 1;
    await this.#api.replaceConfig(wanted, etag);
  }
}
