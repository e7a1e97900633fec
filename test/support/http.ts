import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** A connection that is silent for this long counts as hung. */
const SILENCE_MS = 90_000;

/** Sends a request with exactly these headers on a new connection. Rejects if the server stays silent. */
export function rawRequest(
  url: string,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = init;
    const outgoing = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    outgoing.setTimeout(SILENCE_MS, () => {
      outgoing.destroy(new Error(`${method} ${url} ${headers.host ?? ''}: no byte within ${SILENCE_MS} ms`));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Lets a server listen on a free port of 127.0.0.1, and returns the port. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
