import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type Docker from 'dockerode';

const POLL_INTERVAL_MS = 5_000;
/** The engine counts as lost after this many checks in a row without a response. */
const MISSES = 3;

/** Properties that are missing in the client's types. */
type Connections = Docker['modem'] & { socketPath?: string; protocol?: string; agent?: HttpAgent };

/**
 * Closes the streams of an engine that no longer responds. A host that lost its network closes no connections: without
 * this function, a build or a log would wait forever.
 */
export function closeStreamsOfLostEngine(
  streams: Docker,
  ping: () => Promise<unknown>,
  intervalMs = POLL_INTERVAL_MS,
): void {
  const modem: Connections = streams.modem;
  // The kernel closes the connections of a Unix socket when the engine exits.
  if (modem.socketPath !== undefined) return;
  const open = new Set<Duplex>();
  let watching = false;
  const watch = async () => {
    watching = true;
    for (let missed = 0; open.size > 0; ) {
      await delay(intervalMs, undefined, { ref: false });
      missed = await ping().then(
        () => 0,
        () => missed + 1,
      );
      if (missed >= MISSES) for (const socket of open) socket.destroy(new Error('the engine no longer answers'));
    }
    watching = false;
  };
  const agent = modem.protocol === 'https' ? new HttpsAgent() : new HttpAgent();
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, connected) => {
    const socket = connect(options, connected) as Socket;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (!watching) void watch();
    return socket;
  };
  modem.agent = agent;
}
