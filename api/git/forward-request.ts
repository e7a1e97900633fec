import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';
import type { Config } from '../../shared/core/config.js';
import { AppError } from '../../shared/core/error-registry.js';
import type { ApiContext } from '../http/request-state.js';

/** Header that proves that another API process forwarded the request and counted it for the rate limit. */
export const FORWARDED_HEADER = 'x-ranvier-forwarded';
const CONNECT_MS = 3000;
/** Headers that apply only to one connection. */
const OWN_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect', FORWARDED_HEADER];

/** Returns the URL at which other hosts reach this process. */
export function internalAddress({
  internalUrl,
  apiAddress,
  port,
}: Pick<Config, 'internalUrl' | 'apiAddress' | 'port'>) {
  if (internalUrl !== null) return internalUrl;
  const outer = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  const address = apiAddress ?? outer ?? '127.0.0.1';
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/**
 * Forwards a git request to the API process that has the repository. Throws engine_unavailable, with the request's body
 * unread, if no address accepts a connection.
 */
export async function forwardTo(ctx: ApiContext, addresses: readonly string[], token: string): Promise<void> {
  const address = await reachable(addresses);
  if (address === null) {
    throw new AppError('engine_unavailable', 'The API host that has this repository does not answer; try again later');
  }
  const { req, res } = ctx;
  const headers = { ...req.headers };
  for (const name of OWN_HEADERS) delete headers[name];
  const target = new URL(address);
  const request = target.protocol === 'https:' ? requestHttps : requestHttp;
  ctx.status = 200;
  ctx.respond = false;
  await new Promise<void>((resolve) => {
    const onward = request(target, {
      method: ctx.method,
      // Not `req.url`, which may contain a host. That host would then receive the key and the forwarding token.
      path: `${ctx.path}${ctx.search}`,
      headers: { ...headers, [FORWARDED_HEADER]: token },
    });
    const fail = () => {
      if (!res.headersSent) {
        res.writeHead(502, { 'Content-Type': 'text/plain; charset=utf-8' });
        res.end('The API host that has this repository broke off; try again\n');
      } else res.destroy();
      resolve();
    };
    onward.once('error', fail);
    onward.once('response', (answer) => {
      const passed = { ...answer.headers };
      for (const name of OWN_HEADERS) delete passed[name];
      res.writeHead(answer.statusCode ?? 502, passed);
      // Once the other host has received the whole request, that host continues even if the pusher disconnects.
      res.once('close', () => {
        if (!req.complete || ctx.method === 'GET') onward.destroy();
        else answer.resume();
      });
      answer.once('error', fail);
      answer.once('end', resolve);
      answer.pipe(res);
    });
    pipeline(req, onward, (error) => {
      if (error && !req.complete) onward.destroy();
    });
  });
}

async function reachable(addresses: readonly string[]): Promise<string | null> {
  for (const address of addresses) {
    const { hostname, port, protocol } = new URL(address);
    const number = Number(port) || (protocol === 'https:' ? 443 : 80);
    if (await accepts(hostname.replace(/^\[|\]$/g, ''), number)) return address;
  }
  return null;
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const end = (taken: boolean) => () => {
      socket.destroy();
      resolve(taken);
    };
    socket.once('connect', end(true));
    socket.once('timeout', end(false));
    socket.once('error', end(false));
  });
}
