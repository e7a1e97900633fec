import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { turns } from './source-turns.js';

/** How long the rest of an unwanted body is read, so that the client can read its response. */
const LINGER_MS = 5_000;

/** Passes only admitted connections to the HTTP server, so that refused ones need no parser. */
export function admitOnly(server: Server, admit: (socket: Socket) => boolean): void {
  const [serve] = server.listeners('connection');
  if (serve === undefined) throw new Error('the HTTP server takes no connections');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    turns.accepted();
    if (admit(socket)) serve.call(server, socket);
  });
}

/** Reads the rest of a request's body. A socket that is closed with unread bytes may lose the response. */
export function drainRest(req: IncomingMessage, res: ServerResponse): void {
  const { socket } = req;
  const closes = !res.shouldKeepAlive;
  if (closes) {
    socket.destroySoon = () => {
      if (req.complete) Socket.prototype.destroySoon.call(socket);
      else socket.end();
    };
  }
  res.once('finish', () => {
    if (req.complete || req.destroyed) return;
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    req.once('close', () => clearTimeout(timer));
    req.once('end', () => {
      clearTimeout(timer);
      if (closes) socket.destroySoon();
    });
    req.resume();
  });
}

/** Responds to a connection that sent no HTTP or was too slow, and closes it. `answer` is the response in progress. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket, answer: ServerResponse | null): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (answer?.headersSent) {
    if (answer.writableEnded) socket.end();
    else socket.destroy();
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
