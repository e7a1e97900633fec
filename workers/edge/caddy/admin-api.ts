import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { errorMessage } from '../../../shared/core/error-registry.js';

const TIMEOUT_MS = 10_000;

/** `absent`: Caddy is not running. `interrupted`: Caddy replaced its listener, or its configuration changed. */
export class CaddyError extends Error {
  readonly kind: 'absent' | 'interrupted' | 'failed';
  constructor(message: string, kind: CaddyError['kind'] = 'failed') {
    super(message);
    this.name = 'CaddyError';
    this.kind = kind;
  }
}

const JSON_BODY = { 'content-type': 'application/json' };

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
    // On a Unix socket Caddy accepts only requests with an empty `Host` header.
    this.#options =
      socketPath === null
        ? { headers: {} }
        : { headers: { host: '' }, dispatcher: new Agent({ connect: { socketPath } }) };
  }

  /** Returns the whole configuration, and its ETag for `replaceConfig`. */
  async config(): Promise<{ value: unknown; etag: string }> {
    const { status, text, etag } = await this.#call('GET');
    if (status !== 200) throw refused('GET', status, text);
    return { value: JSON.parse(text || 'null'), etag };
  }

  /**
   * Replaces the configuration. Throws an `interrupted` error if another process has changed it since it had this ETag.
   */
  async replaceConfig(value: unknown, etag: string): Promise<void> {
    const { status, text } = await this.#call('POST', { 'if-match': etag }, JSON.stringify(value));
    if (status === 412) throw new CaddyError('Caddy got another configuration at the same moment', 'interrupted');
    if (status !== 200) throw refused('POST', status, text);
  }

  async #call(method: 'GET' | 'POST', headers: Record<string, string> = {}, body?: string) {
    try {
      const response = await request(`${this.#origin}/config/`, {
        method,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
        // A new configuration replaces the API's own listener, so connections are not reused.
        reset: true,
        ...this.#options,
        headers: { ...this.#options.headers, ...headers, ...(body === undefined ? {} : JSON_BODY) },
        body: body ?? null,
      });
      const etag = String(response.headers.etag ?? '');
      return { status: response.statusCode, text: await response.body.text(), etag };
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

function refused(method: string, status: number, text: string): CaddyError {
  return new CaddyError(`Caddy answered ${status} to ${method} /config/: ${text.trim().slice(0, 500)}`);
}
