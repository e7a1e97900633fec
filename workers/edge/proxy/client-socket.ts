import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from './connections.js';
import { turns } from './turns.js';

/** How long the rest of a body that nobody wants is read, so that the client comes to read its answer. */
const LINGER_MS = 5_000;

/** Lets the HTTP server see only connections that are admitted: one that is refused costs no parser. */
export function admitOnly(server: Server, connections: Connections): void {
  const [serve] = server.listeners('connection');
  if (serve === undefined) throw new Error('the HTTP server takes no connections');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    turns.accepted();
    if (connections.admit(socket)) serve.call(server, socket);
  });
}

/** Reads on for a while after an answer that came before the end of the request's body. */
export function drainRest(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  const timer = setTimeout(() => req.socket.destroy(), LINGER_MS);
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => clearTimeout(timer));
  req.resume();
}

/** Answers what is no HTTP, or took too long to become it. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
