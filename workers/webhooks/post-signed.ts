import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { hostOf, isPrivateAddress } from '../../shared/services/service-source.js';

/** Thrown for an address to which nothing may be sent. */
class ForbiddenAddress extends Error {}

export interface PostOptions {
  allowLocal: boolean;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
  /** How names are resolved; by default as this host does. */
  resolve?: (host: string) => Promise<LookupAddress[]>;
}

/** What is used of an answer. */
export interface Answer {
  status: number;
  retryAfter: string | undefined;
}

/**
 * Posts a body and resolves to the answer's status, and when it wants to be asked again. Drops the answer's content and follows no redirect. Unless
 * `allowLocal`, every address of the name is checked, and the connection uses a checked one, even if the name resolves
 * to another a moment later. Rejects with `ForbiddenAddress`, or with the connection's fault.
 */
export async function postSigned(address: string, options: PostOptions): Promise<Answer> {
  const url = new URL(address);
  const found = await addressesOf(hostOf(url), options);
  const [first] = found;
  if (!first) throw new Error('the name has no address');
  const pinned: LookupFunction = (_host, { all }, done) => {
    if (all) done(null, found);
    else done(null, first.address, first.family);
  };
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      headers: { ...options.headers, 'Content-Length': String(Buffer.byteLength(options.body)) },
      lookup: pinned,
      agent: false,
      signal: AbortSignal.timeout(options.timeoutMs),
    });
    sent.once('error', reject);
    sent.once('response', (response) => {
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
      response.destroy();
    });
    sent.end(options.body);
  });
}

async function addressesOf(host: string, { allowLocal, resolve }: PostOptions): Promise<LookupAddress[]> {
  const family = isIP(host);
  const found = family !== 0 ? [{ address: host, family }] : await (resolve ?? resolveHere)(host);
  const forbidden = allowLocal ? undefined : found.find(({ address }) => isPrivateAddress(address));
  if (forbidden) throw new ForbiddenAddress(`it is at the private address ${forbidden.address}`);
  return found;
}

function resolveHere(host: string): Promise<LookupAddress[]> {
  return lookup(host, { all: true });
}
