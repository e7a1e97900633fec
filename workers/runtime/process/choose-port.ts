import type { ListeningSocket } from '../../sandbox/listening-sockets.js';

/** Where an application listens, and where it should. */
export interface ObservedPorts {
  sockets: readonly ListeningSocket[];
  /** The port that it was given as PORT. */
  wanted: number;
  configured: number;
  exposed?: readonly number[];
  /** How long it has listened on other ports only, in milliseconds. */
  elsewhereMs: number;
}

export type PortChoice =
  | { type: 'use'; port: number }
  /** Use the first of these ports that answers HTTP, otherwise the first. */
  | { type: 'ask'; ports: number[] }
  /** The application listens nowhere, or may still start to listen on PORT. */
  | { type: 'wait' };

/**
 * How long to wait before another port is used, in milliseconds: some applications first open a port for debugging or
 * metrics.
 */
const SETTLE_MS = 2_000;
const MAX_PORTS = 16;

/**
 * Decides which port of an application takes its requests.
 * The order is PORT, a port that the image exposes, the configured one, the lowest that answers HTTP.
 */
export function choosePort({ sockets, wanted, configured, exposed = [], elsewhereMs }: ObservedPorts): PortChoice {
  const ports = portsOf(sockets);
  if (ports.includes(wanted)) return { type: 'use', port: wanted };
  const announced = ports.find((port) => exposed.includes(port));
  if (announced !== undefined) return { type: 'use', port: announced };
  if (ports.length === 0 || elsewhereMs < SETTLE_MS) return { type: 'wait' };
  if (ports.includes(configured)) return { type: 'use', port: configured };
  const [only] = ports;
  return ports.length === 1 && only !== undefined
    ? { type: 'use', port: only }
    : { type: 'ask', ports: ports.slice(0, MAX_PORTS) };
}

/** Returns the ports in ascending order, each once. */
export function portsOf(sockets: readonly ListeningSocket[]): number[] {
  return [...new Set(sockets.map(({ port }) => port))].sort((a, b) => a - b);
}

/** How connections from outside reach a port of a namespace. */
export type PortWay =
  /** The application listens on an address that can be reached. */
  | { type: 'direct' }
  /** The application listens on an IPv4 loopback address: addresses are translated. */
  | { type: 'translate'; address: string }
  /** The application listens on IPv6 loopback only, or on another address: a relay passes connections on. */
  | { type: 'relay' };

/** Decides how a port is reached at `address`, the namespace's own. */
export function wayTo(sockets: readonly ListeningSocket[], port: number, address: string): PortWay {
  const own = sockets.filter((socket) => socket.port === port).map((socket) => socket.address);
  if (own.some((listening) => ['0.0.0.0', '::', address].includes(listening))) return { type: 'direct' };
  const local = own.find((listening) => listening.startsWith('127.'));
  return local === undefined ? { type: 'relay' } : { type: 'translate', address: local };
}
