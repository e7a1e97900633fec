import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { WebSocket } from 'ws';
import type { ApiClient } from './api-client.js';
import { CliError, EXIT } from './exit-codes.js';

/** A receiver with more to receive makes its sender wait, in bytes. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** Opens the WebSocket that the API named. This computer may know the installation by another address. Throws 8. */
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

/** Returns the WebSocket's address below the URL that `rnv` uses: a proxy may give the installation another one. */
function reachable(installation: string, address: string): string {
  const { pathname } = new URL(address);
  return `${installation.replace(/^http/, 'ws')}${pathname.slice(pathname.indexOf('/api/'))}`;
}

/** Sends what a stream has, and the end of it. The stream waits while the socket takes nothing. */
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

/** Writes a message. The socket waits until the stream takes more. */
export function deliver(bytes: Buffer, to: NodeJS.WritableStream | Writable, socket: WebSocket): void {
  if (to.write(bytes)) return;
  socket.pause();
  to.once('drain', () => socket.resume());
}
