import type { ListeningSocket } from '../../sandbox/listening-sockets.js';

export interface ObservedPorts {
  sockets: readonly ListeningSocket[];
  /** The port in the application's environment variable PORT. */
  wanted: number;
  configured: number;
  exposed?: readonly number[];
  /** How long the application has listened on ports, but not on PORT, in milliseconds. */
  elsewhereMs: number;
}

export type PortChoice =
  | { type: 'use'; port: number }
  /** Use the first of these ports that responds to HTTP; if none does, the first one. */
  | { type: 'ask'; ports: number[] }
  /** The application listens on no port, or may still start to listen on PORT. */
  | { type: 'wait' };

/** Some applications open a debug port first, so wait before a port other than PORT is used. */
const SETTLE_MS = 2_000;
const MAX_PORTS = 16;

/** Decides which of an application's ports gets its requests. */
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

export function portsOf(sockets: readonly ListeningSocket[]): number[] {
  return [...new Set(sockets.map(({ port }) => port))].sort((a, b) => a - b);
}

/** How connections from outside reach a port in a network namespace. */
export type PortWay =
  /** The application listens on the namespace's own address, or on all addresses. */
  | { type: 'direct' }
  /** The application listens on an IPv4 loopback address, to which NAT forwards connections. */
  | { type: 'translate'; address: string }
  /** The application listens on IPv6 loopback only, or on another address. */
  | { type: 'relay' };

/** Decides how connections reach a port of the namespace with this address. */
export function wayTo(sockets: readonly ListeningSocket[], port: number, address: string): PortWay {
  const own = sockets.filter((socket) => socket.port === port).map((socket) => socket.address);
  if (own.some((listening) => ['0.0.0.0', '::', address].includes(listening))) return { type: 'direct' };
  const local = own.find((listening) => listening.startsWith('127.'));
  return local === undefined ? { type: 'relay' } : { type: 'translate', address: local };
}
