import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import type Koa from 'koa';
import { v4 as uuidv4 } from 'uuid';
import { ERROR_REGISTRY } from '../shared/errors.js';
import type { ErrorResponse } from './schema.js';
import type { ApiState } from './state.js';

/** A body that never ends is cut off here. */
const REQUEST_TIMEOUT_MS = 60_000;

export interface RunningServer {
  /** `http://host:port`, without a path. */
  url: string;
  /** Accepts nothing more and returns once every request in flight has its answer. */
  close(): Promise<void>;
}

/** Listens; port 0 takes a free one. Throws where the port is taken. */
export async function startServer(app: Koa<ApiState>, port: number, host?: string): Promise<RunningServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, app.callback());
  server.on('clientError', refuseMalformed);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  return { url: urlOf(server), close: () => close(server) };
}

function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  if (address === '::' || address === '0.0.0.0') return `http://localhost:${port}`;
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    server.closeIdleConnections();
  });
}

/** What is not even HTTP never reaches the application, but is answered like everything else. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const requestId = uuidv4();
  const { status, message } = ERROR_REGISTRY.invalid_request;
  const body: ErrorResponse = { error: { code: 'invalid_request', message: `${message}: it is not HTTP` }, requestId };
  const text = JSON.stringify(body);
  socket.end(
    [
      `HTTP/1.1 ${status} Bad Request`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      `X-Request-ID: ${requestId}`,
      '',
      text,
    ].join('\r\n'),
  );
}
