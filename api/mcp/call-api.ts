import { request as httpRequest, type IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Endpoint } from '../http/endpoint.js';
import type { ApiContext } from '../http/request-state.js';
import { parametersIn } from './tools.js';

/** Maximum length of a result. Agents pay per character that they read, and some refuse long results. */
const MAX_CHARACTERS = 50_000;
const MAX_BYTES = 4 * MAX_CHARACTERS;
const TIMEOUT_MS = 60_000;

type Values = Readonly<Record<string, unknown>>;

export interface ApiAnswer {
  failed: boolean;
  text: string;
}

/** Calls operations over HTTP with the agent's own credential, so its rights, limits and audit entries apply. */
export class ApiCaller {
  readonly #ctx: ApiContext;
  readonly #workspaceId: string;
  readonly #signal: AbortSignal;

  constructor(ctx: ApiContext, workspaceId: string, signal: AbortSignal) {
    this.#ctx = ctx;
    this.#workspaceId = workspaceId;
    this.#signal = signal;
  }

  async call(endpoint: Endpoint, values: Values): Promise<ApiAnswer> {
    const { method, target, body } = requestOf(endpoint, { ...values, workspaceId: this.#workspaceId });
    const response = await this.#send(method, target, body);
    const { text, isCut } = await readBounded(response);
    const hint = isCut
      ? `\n… The answer was cut after ${text.length} characters. Ask for less, for example by limit.`
      : '';
    return { failed: (response.statusCode ?? 500) >= 400, text: text + hint };
  }

  /**
   * Sends the request to the port at which the agent's request arrived. The configured port may be another one, because
   * the process may have inherited its socket.
   */
  async #send(method: string, path: string, body: string | null): Promise<IncomingMessage> {
    const { req, ip } = this.#ctx;
    const { localAddress = '127.0.0.1', localPort } = req.socket;
    const headers = {
      authorization: req.headers.authorization,
      host: req.headers.host,
      'x-forwarded-for': ip,
      'x-forwarded-proto': req.headers['x-forwarded-proto'] ?? 'http',
      ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)]);
    return new Promise((resolve, reject) => {
      httpRequest({
        host: localAddress,
        port: localPort,
        family: isIPv6(localAddress) ? 6 : 4,
        method,
        path,
        headers,
        signal,
      })
        .once('response', resolve)
        .once('error', reject)
        .end(body ?? undefined);
    });
  }
}

function requestOf(
  { method, root, path, query, body }: Endpoint,
  values: Values,
): { method: string; target: string; body: string | null } {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values[name] ?? '')));
  const isQuery = (name: string) => Object.hasOwn(query.properties, name);
  const search = new URLSearchParams();
  const rest: Record<string, unknown> = {};
  const inPath = new Set(['workspaceId', ...parametersIn(path)]);
  for (const [name, value] of Object.entries(values)) {
    if (inPath.has(name)) continue;
    // An unknown name becomes a query parameter if there is no body, so that the API's error names it.
    if (isQuery(name) || body === null) search.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    else rest[name] = value;
  }
  const target = search.size === 0 ? root + filled : `${root}${filled}?${search}`;
  return { method, target, body: body === null ? null : JSON.stringify(rest) };
}

async function readBounded(response: IncomingMessage): Promise<{ text: string; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BYTES) break;
  }
  const text = Buffer.concat(chunks).toString('utf8');
  return { text: text.slice(0, MAX_CHARACTERS), isCut: text.length > MAX_CHARACTERS };
}
