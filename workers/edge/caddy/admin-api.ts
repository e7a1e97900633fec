import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { errorMessage } from '../../../shared/core/error-registry.js';

const TIMEOUT_MS = 10_000;

/**
 * Thrown if Caddy's admin API cannot be reached or refused a request. `absent`: nothing listens there, so Caddy is not
 * running. `interrupted`: Caddy closed the connection before it read the request, which happens when a new
 * configuration replaces its listener.
 */
export class CaddyError extends Error {
  readonly kind: 'absent' | 'interrupted' | 'failed';
  constructor(message: string, kind: CaddyError['kind'] = 'failed') {
    super(message);
    this.name = 'CaddyError';
    this.kind = kind;
  }
}

const TRIES = 5;
const TRY_AGAIN_MS = 50;

/** Runs an action that is safe to repeat, and retries it after an interruption. */
export async function uninterrupted<T>(action: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof CaddyError && error.kind === 'interrupted') || tries === TRIES) throw error;
      await delay(TRY_AGAIN_MS);
    }
  }
}

/** The admin API of the operator's Caddy, at `http://…` or `unix:///…`. Every call throws `CaddyError` if it fails. */
export class AdminApi {
  readonly #url: string;
  readonly #origin: string;
  readonly #options: { dispatcher?: Agent; headers: Record<string, string> };

  constructor(url: string) {
    this.#url = url;
    const socketPath = socketPathOf(url);
    this.#origin = socketPath === null ? url.replace(/\/$/, '') : 'http://localhost';
    // On a Unix socket Caddy accepts only requests without a host.
    this.#options =
      socketPath === null
        ? { headers: {} }
        : { headers: { host: '' }, dispatcher: new Agent({ connect: { socketPath } }) };
  }

  /** Returns the value at a path of the API; null if there is none. */
  async get(path: string): Promise<unknown> {
    const { status, text } = await uninterrupted(() => this.#call('GET', path));
    // The API responds with 400 for a path below a missing value, and with 404 for an unknown id.
    if (status === 400 || status === 404) return null;
    if (status !== 200) throw refused('GET', path, status, text);
    return JSON.parse(text || 'null');
  }

  /** POST sets a value, PUT creates one (in a list: before that index), PATCH replaces an existing one. */
  async write(method: 'POST' | 'PUT' | 'PATCH', path: string, value: unknown): Promise<void> {
    const { status, text } = await this.#call(method, path, JSON.stringify(value));
    if (status !== 200) throw refused(method, path, status, text);
  }

  async remove(path: string): Promise<void> {
    const { status, text } = await this.#call('DELETE', path);
    if (status !== 200) throw refused('DELETE', path, status, text);
  }

  async #call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: string) {
    try {
      const response = await request(`${this.#origin}${path}`, {
        method,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
        // A new configuration replaces the API's own listener, so connections are not reused.
        reset: true,
        ...this.#options,
        ...(body === undefined
          ? {}
          : { body, headers: { ...this.#options.headers, 'content-type': 'application/json' } }),
      });
      return { status: response.statusCode, text: await response.body.text() };
    } catch (error) {
      throw new CaddyError(
        `Caddy's admin API does not answer at ${this.#url} (${errorMessage(error)}): start Caddy on this host, or set CADDY_ADMIN_URL to where its admin API listens, or leave EDGE unset to serve without Caddy`,
        kindOf(error),
      );
    }
  }
}

/** Returns the path of a `unix://` address; null for other addresses. */
export function socketPathOf(url: string): string | null {
  return /^unix:\/\/(.*)/.exec(url)?.[1] ?? null;
}

function kindOf(error: unknown): CaddyError['kind'] {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ECONNREFUSED' || code === 'ENOENT') return 'absent';
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET' ? 'interrupted' : 'failed';
}

function refused(method: string, path: string, status: number, text: string): CaddyError {
  return new CaddyError(`Caddy answered ${status} to ${method} ${path}: ${text.trim().slice(0, 500)}`);
}
