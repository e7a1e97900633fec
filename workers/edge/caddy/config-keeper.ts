import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import { type AdminApi, CaddyError, uninterrupted } from './admin-api.js';
import type { ConfigPart } from './config-part.js';

const POLL_INTERVAL_MS = 2_000;
/** After this many consecutive losses, another process must be overwriting the configuration. A restart causes one. */
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

  /** Compares every part, and writes those that are missing or different. Safe to repeat. */
  async #ensure(): Promise<void> {
    for (const part of this.#parts) {
      const place = part.id === undefined ? configPath(part.path) : `/id/${part.id}`;
      const present = await this.#api.get(place);
      if (isDeepStrictEqual(present, part.value)) continue;
      if (present !== null && part.ours?.(present) === false) throw taken(part, present);
      this.#writes += 1;
      await this.#write(part, place, present !== null);
    }
  }

  async #write({ path, id, last, value }: ConfigPart, place: string, present: boolean): Promise<void> {
    if (value === null) return this.#api.remove(place);
    if (present) return this.#api.write('PATCH', place, value);
    const known = await this.#depth(path);
    // If several elements of a list match, Caddy uses the first. POST appends to a list.
    if (known === path.length && last) return this.#api.write('POST', configPath(path), value);
    if (known === path.length) return this.#api.write('PUT', `${configPath(path)}/0`, value);
    const [key = '', ...rest] = path.slice(known);
    const missing = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), id === undefined ? value : [value]);
    if (known === 0 && (await this.#api.get('/config/')) === null) {
      return this.#api.write('POST', '/config/', { [key]: missing });
    }
    return this.#api.write('PUT', configPath([...path.slice(0, known), key]), missing);
  }

  /** Returns how many of the path's leading keys exist. */
  async #depth(path: readonly string[]): Promise<number> {
    for (let known = path.length; known > 0; known--) {
      if ((await this.#api.get(configPath(path.slice(0, known)))) !== null) return known;
    }
    return 0;
  }
}

function configPath(path: readonly string[]): string {
  return `/config/${path.join('/')}`;
}

function taken({ path }: ConfigPart, present: unknown): CaddyError {
  const found = JSON.stringify(present);
  return new CaddyError(
    `Caddy's configuration has a ${path.join('.')} that is not ours (${found}): take it out, or leave EDGE_TLS off`,
  );
}
