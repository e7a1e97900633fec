import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { withTimeLimit } from '../../shared/core/time-limit.js';
import { hostOf, isPrivateAddress } from '../../shared/services/service-source.js';

class ForbiddenAddress extends Error {}

export interface GuardedRequest {
  method: string;
  allowLocal: boolean;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Time limit for the DNS lookup and the request together, up to the end of the response. */
  timeoutMs: number;
  /** Maximum size of the response's body. A longer body is an error. By default 0, which means that no body is read. */
  maxBodyBytes?: number;
  /** Cuts a body that is longer than `maxBodyBytes` instead of throwing an error. */
  cutsBody?: true;
  signal?: AbortSignal;
  resolve?: (host: string) => Promise<LookupAddress[]>;
}

export interface GuardedAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
}

/**
 * Sends a request to a URL that a tenant chose, without following redirects. Rejects private addresses unless
 * `allowLocal` is set. Connects to the checked address, even if the name then resolves to another one.
 */
export async function requestGuarded(address: string, options: GuardedRequest): Promise<GuardedAnswer> {
  const url = new URL(address);
  const { method, body, timeoutMs, maxBodyBytes = 0 } = options;
  const ending = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(options.signal ? [options.signal] : [])]);
  const found = await withTimeLimit(addressesOf(hostOf(url), options), timeoutMs, () => {
    return new Error('the address of the name was not found in time');
  });
  const [first] = found;
  if (!first) throw new Error('the name has no address');
  const pinned: LookupFunction = (_host, { all }, done) => {
    if (all) done(null, found);
    else done(null, first.address, first.family);
  };
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, {
      method,
      headers: { ...options.headers, ...length },
      lookup: pinned,
      agent: false,
      signal: ending,
    });
    sent.once('error', reject);
    sent.once('response', resolve);
    sent.end(body);
  });
  try {
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: maxBodyBytes === 0 ? '' : await bodyOf(response, maxBodyBytes, options.cutsBody),
    };
  } finally {
    response.on('error', () => undefined).destroy();
  }
}

async function bodyOf(response: IncomingMessage, maxBytes: number, cuts = false): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > maxBytes && !cuts) throw new Error(`the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
    if (cuts && bytes >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
}

async function addressesOf(
  host: string,
  { allowLocal, resolve = (name) => lookup(name, { all: true }) }: GuardedRequest,
): Promise<LookupAddress[]> {
  const family = isIP(host);
  const found = family !== 0 ? [{ address: host, family }] : await resolve(host);
  const forbidden = allowLocal ? undefined : found.find(({ address }) => isPrivateAddress(address));
  if (forbidden) throw new ForbiddenAddress(`it is at the private address ${forbidden.address}`);
  return found;
}
