import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { WebSocket } from 'ws';
import type { ApiClient } from './api-client.js';
import { CliError, EXIT } from './exit-codes.js';

/** Maximum number of bytes buffered for a slow receiver. Beyond it, the sender has to wait. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** Opens a WebSocket whose URL the API returned. Throws with exit code 8 if the connection fails. */
export async function openSocket(api: ApiClient, address: string): Promise<WebSocket> {
  const socket = new WebSocket(reachable(api.url, address), { perMessageDeflate: false });
  try {
    await once(socket, 'open');
  } catch (error) {
    throw new CliError(EXIT.unreachable, `The connection was refused: ${(error as Error).message}`);
  }
  socket.on('error', () => socket.terminate());
  return socket;
}

/** Replaces the host of `address` with the host of `installation`. Behind a proxy, the API may return another host. */
function reachable(installation: string, address: string): string {
  const { pathname } = new URL(address);
  return `${installation.replace(/^http/, 'ws')}${pathname.slice(pathname.indexOf('/api/'))}`;
}

/** Sends a stream's bytes and its end. Pauses the stream while the socket's buffer is full. */
export function sendAll(from: Readable, socket: WebSocket): void {
  from.on('data', (chunk: Buffer) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(chunk, () => {
      if (from.isPaused() && socket.bufferedAmount <= MAX_BUFFERED_BYTES / 2) from.resume();
    });
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) from.pause();
  });
  from.once('end', () => {
    if (socket.readyState === WebSocket.OPEN) socket.send('{"eof":true}');
  });
}

/** Writes a message to a stream. Pauses the socket while the stream's buffer is full. */
export function deliver(bytes: Buffer, to: NodeJS.WritableStream | Writable, socket: WebSocket): void {
  if (to.write(bytes)) return;
  socket.pause();
  to.once('drain', () => socket.resume());
}
