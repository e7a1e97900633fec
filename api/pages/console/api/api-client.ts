import { noteAnswer, noteSilence, noteWait } from './api-silence.js';
import type { Answer, BodyOf, OperationOf, PathOf, PathsWith, QueryOf, Schemas } from './types.js';

/** An error response from the API, or no response at all (`status` is 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly details: readonly { path: string; message: string }[];

  constructor(status: number, body: Partial<Schemas['ErrorResponse']>) {
    super(body.error?.message ?? `The API answered ${status}`);
    this.status = status;
    this.code = body.error?.code ?? 'unknown';
    this.requestId = body.requestId ?? '';
    this.details = body.error?.details ?? [];
  }
}

export function unreachable(): ApiError {
  return new ApiError(0, { error: { code: 'internal_error', message: 'The API cannot be reached' } });
}

/** The CSRF token from /api/bootstrap, which writes need. It is stored in no cookie and no storage. */
let csrfToken = '';
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

let onSignedOut = () => {};
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

type Parameter = string | number | boolean | undefined;
interface Sent {
  path?: object | undefined;
  query?: object | undefined;
  body?: object | undefined;
  signal?: AbortSignal | undefined;
}

type Input<O> = { signal?: AbortSignal } & (PathOf<O> extends undefined ? { path?: undefined } : { path: PathOf<O> }) &
  (QueryOf<O> extends undefined ? { query?: undefined } : { query?: QueryOf<O> }) & { body?: BodyOf<O> };

export function get<P extends PathsWith<'get'>>(path: P, input: Input<OperationOf<P, 'get'>>) {
  return send<Answer<OperationOf<P, 'get'>>>('GET', path, input as Sent);
}
export function post<P extends PathsWith<'post'>>(path: P, input: Input<OperationOf<P, 'post'>>) {
  return send<Answer<OperationOf<P, 'post'>>>('POST', path, input as Sent);
}
export function patch<P extends PathsWith<'patch'>>(path: P, input: Input<OperationOf<P, 'patch'>>) {
  return send<Answer<OperationOf<P, 'patch'>>>('PATCH', path, input as Sent);
}
export function put<P extends PathsWith<'put'>>(path: P, input: Input<OperationOf<P, 'put'>>) {
  return send<Answer<OperationOf<P, 'put'>>>('PUT', path, input as Sent);
}
export function remove<P extends PathsWith<'delete'>>(path: P, input: Input<OperationOf<P, 'delete'>>) {
  return send<Answer<OperationOf<P, 'delete'>>>('DELETE', path, input as Sent);
}

/** Session routes have no version in their path. */
function addressOf(path: string, { path: values = {}, query = {} }: Sent): string {
  const root = /^\/(bootstrap|session)/.test(path) ? '/api' : '/api/v1';
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((values as Record<string, Parameter>)[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query as Record<string, Parameter>)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  return `${root}${filled}${search.size > 0 ? `?${search}` : ''}`;
}

async function send<T>(method: string, path: string, sent: Sent): Promise<T> {
  const key = method === 'POST' ? randomKey() : null;
  try {
    return await once<T>(method, path, sent, key);
  } catch (error) {
    // After a sign-in in another window, the browser has a new session cookie, which needs a new CSRF token.
    if (!(error instanceof ApiError) || error.code !== 'csrf_failed' || path.startsWith('/session')) throw error;
    const { csrfToken: token } = await once<{ csrfToken: string }>('GET', '/bootstrap', {}, null);
    setCsrfToken(token);
    return once<T>(method, path, sent, key);
  }
}

async function once<T>(method: string, path: string, sent: Sent, key: string | null): Promise<T> {
  const headers: Record<string, string> = {};
  if (method !== 'GET') headers['X-CSRFToken'] = csrfToken;
  if (key !== null) headers['Idempotency-Key'] = key;
  const body = method === 'GET' ? undefined : JSON.stringify(sent.body ?? {});
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(addressOf(path, sent), { method, headers, body: body ?? null, signal: sent.signal ?? null });
  } catch (error) {
    if (sent.signal?.aborted) throw error;
    noteSilence();
    throw unreachable();
  }
  noteAnswer();
  const answer = (await response.json().catch(() => ({}))) as T;
  if (response.ok) return answer;
  const seconds = Number(response.headers.get('Retry-After'));
  if (seconds > 0) noteWait(seconds * 1000);
  if (response.status === 401 && !path.startsWith('/session')) onSignedOut();
  throw new ApiError(response.status, answer as Partial<Schemas['ErrorResponse']>);
}

/** Returns a random Idempotency-Key. Browsers offer crypto.randomUUID only over https and on localhost. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
