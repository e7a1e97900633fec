import { createServer, type IncomingMessage, maxHeaderSize, type Server } from 'node:http';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { v4 as uuidv4 } from 'uuid';
import { ERROR_REGISTRY } from '../shared/core/error-registry.js';
import { clientOfSocket } from './http/client-identity.js';
import type { ApiState } from './http/request-state.js';
import type { ErrorResponse } from './http/schema.js';

/** In milliseconds. Node.js's own request timeout is off, because it cannot differ by path as REQUEST_MS does. */
const TIMES = { requestTimeout: 0, headersTimeout: 15_000, connectionsCheckingInterval: 2_000 };
/** Milliseconds until an incomplete request ends its connection. A slow push may take an hour. */
const REQUEST_MS = { usual: 60_000, push: 60 * 60_000 };
/**
 * Milliseconds after which a connection is closed if the client neither sends the request's body nor reads the
 * response.
 */
const STALLED_MS = 60_000;
/**
 * Maximum numbers of connections: of all clients together, and of one client. Behind a proxy only `total` applies,
 * because all connections come from the proxy.
 */
const CONNECTIONS = { total: 8192, ofOne: 256 };

/** How long a refused client may take to read the response, in milliseconds. */
const LINGER_MS = 1_000;

export interface RunningServer {
  /** `http://host:port`, without a path. */
  url: string;
  /** Stops accepting connections, and resolves once all requests in progress have responses. */
  close(): Promise<void>;
}

interface ServerOptions {
  host?: string | undefined;
  /** Descriptor of a socket that is already listening, in place of host and port. */
  descriptor?: number | null;
  behindProxy?: boolean;
  /** Handles upgrade requests. If absent, they are handled like other requests. */
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/**
 * Listens on the port; 0 means any free one. Rejects if the port is in use. With `behindProxy`, the number of
 * connections of one client is not limited.
 */
export async function startServer(
  app: Koa<ApiState>,
  port: number,
  { host, descriptor = null, behindProxy = false, upgrade }: ServerOptions = {},
): Promise<RunningServer> {
  const answer = app.callback();
  const shouldUpgradeCallback = ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket';
  const server = createServer({ ...TIMES, shouldUpgradeCallback }, (request, response) => {
    boundRequest(request);
    void answer(request, response);
  });
  server.setTimeout(STALLED_MS);
  server.maxConnections = CONNECTIONS.total;
  if (!behindProxy) boundConnections(server);
  server.on('clientError', refuseMalformed);
  if (upgrade) server.on('upgrade', upgrade);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(descriptor === null ? { port, host } : { fd: descriptor }, () => resolve());
  });
  return { url: urlOf(server), close: () => close(server) };
}

function boundConnections(server: Server): void {
  const open = new Map<string, number>();
  server.on('connection', async (socket: Socket) => {
    const client = await clientOfSocket(socket);
    if (socket.destroyed) return;
    const count = (open.get(client) ?? 0) + 1;
    if (count > CONNECTIONS.ofOne) return void socket.destroy();
    open.set(client, count);
    socket.once('close', () => {
      const left = (open.get(client) ?? 1) - 1;
      if (left > 0) open.set(client, left);
      else open.delete(client);
    });
  });
}

function boundRequest(request: IncomingMessage): void {
  const { socket, headers } = request;
  // Without a body, a request is complete after its headers.
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return;
  const late = () => refuseMalformed(Object.assign(new Error(), { code: TOO_SLOW }), socket);
  const timer = setTimeout(late, request.url?.startsWith('/git/') ? REQUEST_MS.push : REQUEST_MS.usual);
  const stop = () => {
    clearTimeout(timer);
    socket.off('close', stop);
  };
  for (const event of ['end', 'close', 'error']) request.once(event, stop);
  // If the connection closes after the response, an incomplete request emits none of these events.
  socket.once('close', stop);
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

/** Node.js's error code for a request that was not complete in time. */
const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';

function malformation(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return `its headers have more than ${maxHeaderSize} bytes`;
  return code === TOO_SLOW ? 'it was not complete in time' : 'it is not HTTP';
}

/** Responds with an ErrorResponse to bytes that are not a valid HTTP request. The application does not receive them. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const requestId = uuidv4();
  const { status, message } = ERROR_REGISTRY.invalid_request;
  const explained = `${message}: ${malformation(error.code)}`;
  const body: ErrorResponse = { error: { code: 'invalid_request', message: explained }, requestId };
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
  // The client may never close its end of the connection.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
