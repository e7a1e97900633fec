import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** One build's way to BuildKit. */
export interface Relay {
  /** Why BuildKit could not be reached; null where it could, or nobody tried. */
  readonly fault: Error | null;
  /** Ends every connection, and with them what they build. */
  close(): void;
}

/** No system takes a longer path for a socket. */
const LONGEST_PATH = 103;

/**
 * Listens on a socket of its own at `path` and passes each connection on to BuildKit (`unix://…` or `tcp://…`), so that a
 * build reaches it whose user may not open BuildKit's own.
 */
export async function openRelay(path: string, host: string): Promise<Relay> {
  if (Buffer.byteLength(path) > LONGEST_PATH) throw new Error(`DATA_DIR is too long for a socket below it: ${path}`);
  const sockets = new Set<Socket>();
  const relay = {
    fault: null as Error | null,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  const server = createServer((client) => {
    const buildkit = connect(addressOf(host));
    buildkit.on('connect', () => {
      relay.fault = null;
    });
    buildkit.on('error', (error: NodeJS.ErrnoException) => {
      if (error.syscall === 'connect') relay.fault = error;
    });
    for (const socket of [client, buildkit]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    // Whoever breaks off ends both; the program says what that means for its build.
    pipeline(client, buildkit, client, () => {});
  });
  server.listen(path);
  await once(server, 'listening');
  return relay;
}

function addressOf(host: string): NetConnectOpts {
  if (host.startsWith('unix://')) return { path: host.slice('unix://'.length) };
  const { hostname, port } = new URL(host);
  return { host: hostname, port: Number(port) };
}
