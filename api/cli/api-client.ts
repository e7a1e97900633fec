import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CliError, EXIT, exitCodeOf } from './exit-codes.js';

/** A failed API request. `status` is 0 if there was no response. */
export class ApiError extends CliError {
  readonly status: number;
  readonly code: string;
  /** Seconds until the request may be sent again (Retry-After); 0 if the API sent none. */
  readonly retryAfter: number;
  /** The fields that the API's error is about, such as `/otp`. */
  readonly paths: readonly string[];

  constructor(status: number, code: string, message: string, retryAfter = 0, paths: readonly string[] = []) {
    super(status === 0 ? EXIT.unreachable : exitCodeOf(status), message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
    this.paths = paths;
  }

  /** True if the same request may succeed later. */
  get passing(): boolean {
    return this.exitCode === EXIT.unreachable || this.exitCode === EXIT.rateLimited || this.status >= 500;
  }
}

export interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

const ANSWER_MS = 60_000;
/** Pauses before retries. They are short, because a command must not hang if the API is unreachable. */
const PAUSES_MS = [200, 600];

/** Sends one request. Throws ApiError unless the response has a success status. */
export async function send(
  url: string,
  init: { method: string; headers?: Record<string, string>; body?: unknown; signal?: AbortSignal },
): Promise<Answer> {
  const signals = [AbortSignal.timeout(ANSWER_MS), ...(init.signal ? [init.signal] : [])];
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: init.method,
      headers: {
        'User-Agent': 'rnv',
        ...(init.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...init.headers,
      },
      body: init.body === undefined ? null : JSON.stringify(init.body),
      signal: AbortSignal.any(signals),
      // Following a redirect could send the API key to another host.
      redirect: 'manual',
    });
    text = await response.text();
  } catch (error) {
    init.signal?.throwIfAborted();
    throw new ApiError(0, 'unreachable', `${new URL(url).origin} cannot be reached: ${reasonOf(error)}`);
  }
  const to = response.headers.get('location');
  if (response.status >= 300 && response.status < 400)
    throw new ApiError(response.status, 'redirected', `${url} answers with a redirect to ${to}; use that address`);
  const body = parse(text);
  if (response.ok && body !== undefined) return { status: response.status, headers: response.headers, body };
  throw failure(url, response, body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface ErrorBody {
  error?: { code?: string; message?: string; details?: { path: string; message: string }[] };
  requestId?: string;
}

function failure(url: string, response: Response, body: unknown): ApiError {
  const { error, requestId } = (body ?? {}) as ErrorBody;
  const retryAfter = Number(response.headers.get('retry-after') ?? 0) || 0;
  if (!error?.code) {
    const message = `${new URL(url).origin} answered ${response.status} without JSON. Check that it is the address of the installation`;
    return new ApiError(response.status, 'unexpected', message, retryAfter);
  }
  const { details = [] } = error;
  const lines = details.map(({ path, message }) => `\n  ${path} ${message}`).join('');
  const message = `${error.message ?? error.code}${lines} (${error.code}, request ${requestId})`;
  const paths = details.map(({ path }) => path);
  return new ApiError(response.status, error.code, message, retryAfter, paths);
}

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  const text = cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
  return text === 'ECONNREFUSED' ? 'the connection was refused' : text;
}

/** A client of the versioned API for one workspace. */
export class ApiClient {
  readonly url: string;
  readonly workspaceId: string;
  readonly #key: string;
  readonly #signal: AbortSignal;

  constructor(init: { url: string; key: string; workspaceId: string; signal: AbortSignal }) {
    this.url = init.url;
    this.workspaceId = init.workspaceId;
    this.#key = init.key;
    this.#signal = init.signal;
  }

  /** The API key, which git needs as a password. */
  get key(): string {
    return this.#key;
  }

  /** Reads a path relative to the workspace. Retries, to bridge a short outage. */
  get<T>(path: string): Promise<T> {
    return this.#retrying(() => this.once<T>('GET', path));
  }

  /** Writes to a path relative to the workspace. Retries use the same Idempotency-Key, so nothing is done twice. */
  write<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body: unknown = {}): Promise<T> {
    const headers = { 'Idempotency-Key': randomUUID() };
    return this.#retrying(() => this.once<T>(method, path, body, headers));
  }

  /** Sends one request, without retries. Throws ApiError if it fails. */
  async once<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const answer = await send(`${this.url}/api/v1/workspaces/${this.workspaceId}${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.#key}`, ...headers },
      body,
      signal: this.#signal,
    });
    return answer.body as T;
  }

  async #retrying<T>(attempt: () => Promise<T>): Promise<T> {
    for (const pause of PAUSES_MS) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof ApiError) || error.exitCode !== EXIT.unreachable) throw error;
        await delay(pause, undefined, { signal: this.#signal });
      }
    }
    return attempt();
  }
}
