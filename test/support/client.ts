import { type RawAnswer, rawRequest } from './http.js';

export interface Answer<T = Record<string, never>> {
  status: number;
  headers: Headers;
  body: T;
}

type Json = Record<string, unknown>;

/** Timeout of an API request. It is long, because a busy machine delays everything. */
const ANSWER_MS = 90_000;

/** Calls the API of a platform under test as a user would. */
export class ApiClient {
  readonly baseUrl: string;
  readonly workspaceId: string;
  readonly key: string;

  constructor(baseUrl: string, workspaceId: string, key: string) {
    this.baseUrl = baseUrl;
    this.workspaceId = workspaceId;
    this.key = key;
  }

  /** `path` is below the workspace. The type of the answer is not checked. */
  async call<T = Json>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(`${this.baseUrl}/workspaces/${this.workspaceId}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: (text === '' ? {} : JSON.parse(text)) as T };
  }

  async expect<T = Json>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
    const answer = await this.call<T>(method, path, body, headers);
    if (answer.status >= 300)
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

/** Sends a request through the edge to a service's URL, on a new connection. */
export function visit(url: string, edgePort: number, path = '/', method = 'GET'): Promise<RawAnswer> {
  return rawRequest(`http://127.0.0.1:${edgePort}${path}`, { method, headers: { host: new URL(url).host } });
}
