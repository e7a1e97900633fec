import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { errors } from 'undici';
import type { Outcome } from './attempt.js';
import type { Exchange } from './exchange.js';
import { clientHeaders, upstreamHeaders } from './headers.js';
import { MAX_HEADER_BYTES, type Upstream } from './upstream.js';

const ANSWER_MS = 30_000;

/**
 * Asks a replica to change the protocol of a connection. Where it agrees, the two sockets are joined and live on
 * whatever happens to the route; where it does not, its answer is an ordinary response.
 */
export function tunnel(exchange: Exchange, upstream: Upstream): Promise<Outcome> {
  const { req, res, client, requestId, upgrade } = exchange;
  if (upgrade === null) throw new Error('a tunnel needs a connection that asks for an upgrade');
  return new Promise((resolve) => {
    let sent = false;
    const outgoing = request({
      agent: false,
      host: upstream.address,
      port: upstream.port,
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      setHost: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      headers: [
        ...upstreamHeaders(req, client, requestId),
        'Connection',
        'Upgrade',
        'Upgrade',
        req.headers.upgrade ?? 'websocket',
      ],
    });
    outgoing.setTimeout(ANSWER_MS, () => outgoing.destroy(new errors.HeadersTimeoutError()));
    outgoing.once('socket', (socket) => socket.once('connect', () => (sent = true)));
    const onClientClose = () => {
      outgoing.destroy();
      resolve({ type: 'client-gone' });
    };
    upgrade.socket.once('close', onClientClose);
    outgoing.once('upgrade', (response: IncomingMessage, socket: Socket, head: Buffer) => {
      upgrade.socket.off('close', onClientClose);
      res.detachSocket(upgrade.socket);
      join(upgrade.socket, socket, switchingHead(response, requestId), upgrade.head, head);
      resolve({ type: 'answered' });
    });
    outgoing.once('response', (response: IncomingMessage) => {
      res.writeHead(response.statusCode ?? 502, response.statusMessage, clientHeaders(response.rawHeaders, requestId));
      pipeline(response, res, (error) => {
        if (error) resolve({ type: 'failed', error, sent: true, begun: true });
        else resolve({ type: 'answered' });
      });
    });
    outgoing.on('error', (error) => resolve({ type: 'failed', error, sent, begun: res.headersSent }));
    outgoing.end();
  });
}

function switchingHead(response: IncomingMessage, requestId: string): string {
  const headers = ['Connection', 'Upgrade', 'Upgrade', response.headers.upgrade ?? ''];
  headers.push(...clientHeaders(response.rawHeaders, requestId));
  let head = 'HTTP/1.1 101 Switching Protocols\r\n';
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}\r\n`;
}

function join(client: Socket, replica: Socket, answer: string, fromClient: Buffer, fromReplica: Buffer): void {
  for (const socket of [client, replica]) {
    socket.setNoDelay(true);
    socket.setTimeout(0);
    // 'close' follows and ends the other side; a reset is how many sockets end.
    socket.on('error', () => undefined);
  }
  client.write(answer, 'latin1');
  if (fromReplica.length > 0) client.write(fromReplica);
  if (fromClient.length > 0) replica.write(fromClient);
  client.pipe(replica);
  replica.pipe(client);
  client.once('close', () => replica.destroy());
  // What the replica said last may still be on its way to the client.
  replica.once('close', () => client.destroySoon());
}
