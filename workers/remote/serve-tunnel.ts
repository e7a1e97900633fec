import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { CLOSE, parseControl } from '../../shared/remote/model.js';
import { Outlet } from '../../shared/remote/outlet.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { sandboxIdOf } from '../runtime/process/replica-sandbox.js';
import { socketsOfNamespace } from '../sandbox/listening-sockets.js';
import type { RemoteDeps } from './remote-deps.js';
import type { Target } from './target.js';

const CONNECT_MS = 5_000;

/** Connects a WebSocket to a port of a replica. Resolves when the connection is closed. */
export async function serveTunnel(
  deps: RemoteDeps,
  { port: wanted }: RemoteSessionRow,
  target: Target,
  peer: WebSocket,
): Promise<void> {
  const port = wanted ?? target.replica.port;
  const socket = port !== null && (await isReachable(deps, target, port)) ? await opened(target.replica, port) : null;
  if (socket === null) {
    peer.resume();
    peer.close(CLOSE.notFound, 'nothing listens on the port');
    return;
  }
  const closed = once(socket, 'close');
  pass(socket, peer);
  await closed.catch(() => undefined);
}

/** Returns true if a process of the replica itself listens on this port, at an address that the host can reach. */
async function isReachable({ sandbox }: RemoteDeps, { replica, process }: Target, port: number): Promise<boolean> {
  const networks = sandbox.allNetworks;
  if (!networks?.owns(replica.address)) {
    const ports = await sandbox.listeningPorts(sandboxIdOf(replica), process);
    return ports === null ? port === replica.port : ports.includes(port);
  }
  const own = await networks.portBehind(replica.address, port);
  // In a rootless network, the host can reach only one port of each sandbox.
  if (networks.level === 'rootless' && port !== replica.port) return false;
  return ((await socketsOfNamespace(process.pid)) ?? []).some((listener) => listener.port === own);
}

function opened({ address }: Pick<ReplicaRow, 'address'>, port: number): Promise<Socket | null> {
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true, timeout: CONNECT_MS });
  return new Promise((resolve) => {
    const fail = () => {
      socket.destroy();
      resolve(null);
    };
    socket.once('error', fail);
    socket.once('timeout', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      socket.off('timeout', fail);
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** Passes bytes in both directions. Each direction ends separately, and a slow receiver pauses the sender. */
function pass(socket: Socket, peer: WebSocket): void {
  const outlet = new Outlet(peer, () => socket, { merges: true });
  let failed = false;
  socket.on('data', (chunk) => outlet.send(chunk));
  socket.once('end', () => outlet.send(Buffer.from(JSON.stringify({ eof: true })), false));
  socket.on('error', () => {
    failed = true;
  });
  socket.once('close', () => {
    // A paused WebSocket would not receive the API's close message.
    peer.resume();
    if (failed) peer.close(CLOSE.fault, 'the connection broke off');
    else peer.close(1000);
  });
  peer.once('close', () => socket.destroy());
  peer.on('message', (data: Buffer, isBinary: boolean) => {
    if (!isBinary) {
      const control = parseControl(data.toString('utf8'));
      if (control !== null && 'eof' in control) socket.end();
    } else if (socket.writable && !socket.write(data)) {
      peer.pause();
      socket.once('drain', () => peer.resume());
    }
  });
  if (peer.readyState === peer.OPEN) peer.resume();
  else socket.destroy();
}
