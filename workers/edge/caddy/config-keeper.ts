import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage } from '../../../shared/errors.js';
import type { Logger } from '../../../shared/log.js';
import type { AdminApi } from './admin-api.js';

const LOOK_MS = 2_000;

/** A value of ours in Caddy's configuration, and the keys that lead to it. */
export interface ConfigPart {
  path: readonly string[];
  value: unknown;
}

/**
 * Keeps our parts of Caddy's configuration as they are to be, and touches nothing else in it. A Caddy that lost them
 * (restarted, or loaded with something else) gets them again within seconds.
 */
export class ConfigKeeper {
  readonly #api: AdminApi;
  readonly #parts: readonly ConfigPart[];
  readonly #log: Logger;
  readonly #ended = new AbortController();
  #watch: Promise<void> = Promise.resolve();
  #repairs = 0;
  #away = false;

  constructor(api: AdminApi, parts: readonly ConfigPart[], log: Logger) {
    this.#api = api;
    this.#parts = parts;
    this.#log = log;
  }

  /** Loads what is missing or different, then goes on looking. Throws `CaddyError` where that fails. */
  async start(): Promise<void> {
    await this.#ensure();
    this.#watch = this.#keep();
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#watch;
  }

  async #keep(): Promise<void> {
    for (;;) {
      await delay(LOOK_MS, undefined, { signal: this.#ended.signal }).catch(() => undefined);
      if (this.#ended.signal.aborted) return;
      try {
        const written = await this.#ensure();
        if (this.#away) this.#log.info('Caddy answers again');
        this.#away = false;
        if (written === 0) continue;
        this.#repairs += 1;
        this.#log.warn({ repairs: this.#repairs }, 'Caddy had lost the configuration of the edge; it is loaded again');
      } catch (error) {
        if (!this.#away) this.#log.error(`the edge cannot see to Caddy's configuration: ${errorMessage(error)}`);
        this.#away = true;
      }
    }
  }

  /** Returns how many parts had to be written. */
  async #ensure(): Promise<number> {
    let written = 0;
    for (const { path, value } of this.#parts) {
      const present = await this.#api.get(configPath(path));
      if (isDeepStrictEqual(present, value)) continue;
      await this.#write(path, value, present !== null);
      written += 1;
    }
    return written;
  }

  async #write(path: readonly string[], value: unknown, present: boolean): Promise<void> {
    if (present) return this.#api.write('PATCH', configPath(path), value);
    const known = await this.#depth(path);
    const missing = path.slice(known + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
    const [key = ''] = path.slice(known);
    if (known > 0 || (await this.#api.get('/config/')) !== null) {
      return this.#api.write('PUT', configPath([...path.slice(0, known), key]), missing);
    }
    return this.#api.write('POST', '/config/', { [key]: missing });
  }

  /** How many of the path's keys are there. */
  async #depth(path: readonly string[]): Promise<number> {
    for (let known = path.length - 1; known > 0; known--) {
      if ((await this.#api.get(configPath(path.slice(0, known)))) !== null) return known;
    }
    return 0;
  }
}

function configPath(path: readonly string[]): string {
  return `/config/${path.join('/')}`;
}
