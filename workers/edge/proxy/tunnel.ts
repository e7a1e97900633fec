import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { checkedStatus, clientHeaders, InvalidAnswerError, MAX_INTERIM } from './answer-head.js';
import type { Outcome } from './attempt.js';
import { backlogOf } from './client-connection.js';
import type { Exchange } from './exchange.js';
import { upstreamHeaders } from './headers.js';
import { PacedWriter } from './paced-writer.js';
import { errors } from './undici.js';
import { MAX_HEADER_BYTES, type Upstream } from './upstream.js';

/** Shorter than for other answers, because a client that leaves in the meantime is not noticed. */
const ANSWER_MS = 30_000;

/**
 * Asks a replica to change the protocol of a connection. If it agrees, the two sockets are joined, and stay joined when the
 * route changes. If it refuses, its answer is an ordinary response.
 */
export function tunnel(exchange: Exchange, upstream: Upstream): Promise<Outcome> {
  const { res, upgrade, containment, connection } = exchange;
  if (upgrade === null) throw new Error('a tunnel needs a connection that asks for an upgrade');
  return new Promise((resolve) => {
    let sent = false;
    let interim = 0;
    const outgoing = ask(exchange, upstream);
    const fail = (error: Error) => {
      clearTimeout(timer);
      resolve({ type: 'failed', error, sent, begun: res.headersSent });
      outgoing.destroy();
    };
    const timer = setTimeout(() => fail(new errors.HeadersTimeoutError()), Math.min(ANSWER_MS, upstream.headersMs));
    const onClientClose = () => {
      clearTimeout(timer);
      resolve({ type: 'client-gone' });
      outgoing.destroy();
    };
    /** A bad answer is a fault of the replica, not of the edge. */
    const answering = <A extends unknown[]>(callback: (...args: A) => void) =>
      containment.guard((...args: A) => {
        clearTimeout(timer);
        try {
          callback(...args);
        } catch (error) {
          if (!(error instanceof InvalidAnswerError)) throw error;
          fail(error);
        }
      });
    outgoing.once('socket', (socket) => socket.once('connect', () => (sent = true)));
    outgoing.on('error', fail);
    outgoing.on('information', ({ statusCode }) => {
      interim += 1;
      if (statusCode === 101 || interim > MAX_INTERIM) fail(new InvalidAnswerError(`interim status ${statusCode}`));
    });
    upgrade.socket.once('close', onClientClose);
    outgoing.once(
      'upgrade',
      answering((response: IncomingMessage, socket: Socket, head: Buffer) => {
        socket.on('error', () => socket.destroy());
        if (upgrade.socket.destroyed) return void socket.destroy();
        const answer = switchingHead(response, exchange);
        upgrade.socket.off('close', onClientClose);
        res.detachSocket(upgrade.socket);
        connection.upload = () => backlogOf(socket);
        join(exchange, upgrade.socket, socket);
        upgrade.socket.write(answer, 'latin1');
        if (head.length > 0) socket.unshift(head);
        if (upgrade.head.length > 0) upgrade.socket.unshift(upgrade.head);
        resolve({ type: 'answered' });
      }),
    );
    outgoing.once(
      'response',
      answering((response: IncomingMessage) => {
        const status = checkedStatus(response.statusCode);
        noticeEnd(upgrade.socket);
        res.writeHead(status, clientHeaders(response.rawHeaders, exchange, status));
        const writer = new PacedWriter(res, response);
        response.on('error', fail);
        response.on('data', (chunk: Buffer) => writer.write(chunk));
        response.once('end', () => {
          writer.end();
          resolve({ type: 'answered' });
        });
      }),
    );
    outgoing.end();
  });
}

/**
 * Notices when a client closes whose request for another protocol was refused. Nothing else reads from its connection, so the
 * answer would go on without a client.
 */
export function noticeEnd(client: Socket): void {
  client.once('end', () => client.destroySoon());
  client.resume();
}

function ask({ req, client, requestId }: Exchange, upstream: Upstream): ClientRequest {
  return request({
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
}

/** Throws `InvalidAnswerError`. */
function switchingHead(response: IncomingMessage, exchange: Exchange): string {
  const headers = ['Connection', 'Upgrade', 'Upgrade', response.headers.upgrade ?? ''];
  headers.push(...clientHeaders(response.rawHeaders, exchange));
  let head = 'HTTP/1.1 101 Switching Protocols\r\n';
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}\r\n`;
}

/** Copies the bytes of each socket to the other, as fast as that one accepts them. */
function join({ containment }: Exchange, client: Socket, replica: Socket): void {
  for (const [from, to] of [
    [client, replica],
    [replica, client],
  ] as const) {
    from.setNoDelay(true);
    from.setTimeout(0);
    // Many connections end with a reset. 'close' follows and ends the other side.
    from.on('error', () => undefined);
    const writer = new PacedWriter(to, from);
    from.on(
      'data',
      containment.guard((chunk: Buffer) => writer.write(chunk)),
    );
    from.once('end', () => writer.end());
  }
  client.once('close', () => replica.destroy());
  // The replica's last bytes may not have reached the client yet.
  replica.once('close', () => client.destroySoon());
}
