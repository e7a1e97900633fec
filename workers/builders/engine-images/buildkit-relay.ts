import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as openSocket } from 'node:net';
import { socketAddress } from '../../docker/docker-engine.js';

export interface Relay {
  /** Why BuildKit could not be reached; null if it was reached, or if no connection was tried yet. */
  readonly fault: Error | null;
  /** Closes all connections, which aborts the builds that use them. */
  close(): void;
}

/**
 * The gRPC calls that a build needs. Others, such as `DiskUsage` and `Prune`, list or change data of other services.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  '/moby.buildkit.v1.Control/Info',
  '/moby.buildkit.v1.Control/ListWorkers',
  '/moby.buildkit.v1.Control/Session',
  '/moby.buildkit.v1.Control/Solve',
  '/moby.buildkit.v1.Control/Status',
  '/grpc.health.v1.Health/Check',
]);
const PERMISSION_DENIED = 7;
/** Maximum length of a Unix socket's path on macOS; Linux allows four bytes more. */
const MAX_SOCKET_PATH_BYTES = 103;
const MAX_CONNECTIONS = 16;
/** The usual window of 64 KiB would slow builds down: BuildKit streams sources and images over a connection. */
const WINDOW_BYTES = 1024 * 1024;
const SETTINGS = { initialWindowSize: WINDOW_BYTES, maxConcurrentStreams: 100 };

/**
 * Listens on a Unix socket at `path`, and forwards the calls that a build needs to BuildKit. The user of the build may
 * not open BuildKit's own socket. Throws if the path is too long for a socket.
 */
export async function openRelay(path: string, host: string): Promise<Relay> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
    throw new Error(
      `DATA_DIR is too long: the path of a socket below it has more than ${MAX_SOCKET_PATH_BYTES} bytes (${path})`,
    );
  }
  const sessions = new Set<ServerHttp2Session | ClientHttp2Session>();
  const relay = {
    fault: null as Error | null,
    close: () => {
      server.close();
      for (const session of sessions) session.destroy();
    },
  };
  const keep = (session: ServerHttp2Session | ClientHttp2Session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  };
  const server = createServer({ settings: SETTINGS });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('session', (client) => {
    const socket = openSocket(socketAddress(host));
    socket.once('connect', () => {
      relay.fault = null;
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.syscall === 'connect') relay.fault = error;
    });
    const buildkit = connect('http://buildkit', { createConnection: () => socket, settings: SETTINGS });
    for (const session of [client, buildkit]) {
      keep(session);
      // Errors are ignored, because the program that uses the relay reports a broken connection itself.
      session.on('error', () => {});
      session.once('close', () => {
        client.destroy();
        buildkit.destroy();
      });
    }
    client.setLocalWindowSize(WINDOW_BYTES);
    buildkit.once('connect', () => buildkit.setLocalWindowSize(WINDOW_BYTES));
    client.on('stream', (call, headers) => {
      call.on('error', () => {});
      if (ALLOWED.has(headers[':path'] ?? '')) passOn(call, headers, buildkit);
      else refuse(call, headers[':path'] ?? '');
    });
  });
  // Errors are ignored: they are from clients that do not speak HTTP/2.
  server.on('sessionError', () => {});
  server.listen(path);
  await once(server, 'listening');
  return relay;
}

function refuse(call: ServerHttp2Stream, path: string): void {
  call.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': String(PERMISSION_DENIED),
      'grpc-message': encodeURI(`builds may not call ${path.slice(0, 200)}`),
    },
    { endStream: true },
  );
  call.close(constants.NGHTTP2_NO_ERROR);
}

function passOn(call: ServerHttp2Stream, headers: IncomingHttpHeaders, buildkit: ClientHttp2Session): void {
  if (buildkit.destroyed || buildkit.closed) {
    call.close(constants.NGHTTP2_CANCEL);
    return;
  }
  const request = buildkit.request(headers);
  request.on('error', () => {});
  call.pipe(request);
  request.once('response', (answer, flags) => {
    if (call.destroyed) return;
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) return call.respond(answer, { endStream: true });
    let trailers: IncomingHttpHeaders = {};
    request.once('trailers', (last) => {
      trailers = last;
    });
    call.once('wantTrailers', () => call.sendTrailers(trailers));
    call.respond(answer, { waitForTrailers: true });
    request.pipe(call);
  });
  endTogether(call, request);
}

/** Resets a call at BuildKit if the client ends it early, and at the client if BuildKit resets it. */
function endTogether(call: ServerHttp2Stream, request: ClientHttp2Stream): void {
  call.once('close', () => {
    if (!request.closed) request.close(constants.NGHTTP2_CANCEL);
  });
  request.once('close', () => {
    if (request.rstCode !== constants.NGHTTP2_NO_ERROR && !call.closed) call.close(request.rstCode);
  });
}
