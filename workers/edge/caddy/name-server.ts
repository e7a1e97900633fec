import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4, isIPv6 } from 'node:net';
import packet from 'dns-packet';
import { errorMessage } from '../../../shared/errors.js';
import type { Logger } from '../../../shared/log.js';
import { Reachability } from './reachability.js';
import { changedHosts, type Endpoint, endpointsLeft, type Zone } from './zone.js';

const LOOPBACK = '127.0.0.1';
/** A root of our own; these names never leave this host. */
const ROOT = 'ranvier';
/** Requests whose answers come to an end, and those that may last (upgrades, event streams). */
export const STREAMS = ['plain', 'stream'] as const;
export type Stream = (typeof STREAMS)[number];
/** Go's resolver reads 1232 bytes of an answer; a record takes its name and 52 more. */
const ANSWER_BYTES = 1_200;
const RECORD_BYTES = 52;
const NXDOMAIN = 3;

/** Names go on resolving for so long after their last mention: a request may be on its way to its replica. */
const DEPARTED_MS = 30_000;

/** What changed with a new zone. */
export interface ZoneChange {
  /** Endpoints that are named no more. */
  left: Endpoint[];
  /** When an answer of the old zone was last given for a host that changed (`performance.now()`), or null. */
  lastAnswered: number | null;
}

/** The name under which Caddy finds the replicas of a host. */
export function serviceName(host: string, stream: Stream): string {
  return `${host}.${stream}.${ROOT}.`;
}

/** An endpoint as Caddy's list of upstreams calls it. */
export function upstreamName({ label, port }: Endpoint, stream: Stream): string {
  return `${label}.${stream}.${ROOT}.:${port}`;
}

/**
 * Tells Caddy over DNS which replicas a host has: SRV records of `<host>.<stream>.ranvier`, whose targets resolve to the
 * addresses of the replicas that take connections. Answers on loopback only, with a time to live of 0.
 */
export class NameServer {
  readonly #log: Logger;
  readonly #reachability: Reachability;
  /** When each host of the zone was asked for last. */
  readonly #answered = new Map<string, number>();
  #socket: Socket | null = null;
  #zone: Zone = new Map();
  #named = new Set<string>();
  #addresses = new Map<string, { address: string; until: number }>();
  #responder: Endpoint = { label: 'responder', address: LOOPBACK, port: 0 };

  constructor(log: Logger, connectMs: number) {
    this.#log = log;
    this.#reachability = new Reachability(connectMs);
  }

  /** The address to ask, as Caddy writes it. */
  get address(): string {
    return `udp/${LOOPBACK}:${this.#socket?.address().port ?? 0}`;
  }

  /** Begins to answer on this port (0: any free one) and names the responder for all hosts without replicas. */
  async listen(port: number, responderPort: number): Promise<void> {
    this.#responder = { ...this.#responder, port: responderPort };
    this.serve(this.#zone);
    const socket = createSocket('udp4');
    socket.bind(port, LOOPBACK);
    await once(socket, 'listening');
    socket.on('error', (error) => this.#log.error(`the edge's name server: ${errorMessage(error)}`));
    socket.on('message', (message, sender) => {
      this.#answer(socket, message, sender).catch((error) => {
        this.#log.debug(`a question to the edge's name server has no answer: ${errorMessage(error)}`);
      });
    });
    this.#socket = socket;
  }

  /** Answers by this zone from now on. */
  serve(zone: Zone): ZoneChange {
    const times = changedHosts(this.#zone, zone).flatMap((host) => this.#answered.get(host) ?? []);
    const left = endpointsLeft(this.#zone, zone);
    const now = performance.now();
    for (const host of this.#answered.keys()) if (!zone.has(host)) this.#answered.delete(host);
    for (const [label, { until }] of this.#addresses) if (until < now) this.#addresses.delete(label);
    for (const { label, address } of left) this.#addresses.set(label, { address, until: now + DEPARTED_MS });
    const endpoints = [this.#responder, ...[...zone.values()].flat()];
    for (const { label, address } of endpoints)
      this.#addresses.set(label, { address, until: Number.POSITIVE_INFINITY });
    this.#named = new Set(endpoints.map(({ label }) => label));
    this.#reachability.keep(this.#named);
    this.#zone = zone;
    return { left, lastAnswered: times.length === 0 ? null : Math.max(...times) };
  }

  /** Whether an endpoint is named (again). */
  names({ label }: Endpoint): boolean {
    return this.#named.has(label);
  }

  close(): void {
    this.#socket?.close();
    this.#socket = null;
  }

  async #answer(socket: Socket, message: Buffer, { port, address }: RemoteInfo): Promise<void> {
    const query = decoded(message);
    const question = query?.questions?.[0];
    if (query === null || question === undefined) return;
    const answers = await this.#records(question);
    const base = { type: 'response', ...(query.id === undefined ? {} : { id: query.id }) } as const;
    const flags = packet.AUTHORITATIVE_ANSWER | (answers === null ? NXDOMAIN : 0);
    const bytes = packet.encode({ ...base, flags, questions: [question], answers: answers ?? [] });
    // It may have been closed meanwhile.
    if (this.#socket === socket) socket.send(bytes, port, address);
  }

  /** Null for a name that does not exist. */
  async #records({ type, name }: packet.Question): Promise<packet.Answer[] | null> {
    const [, first = '', stream = ''] = /^(.+)\.([a-z]+)\.ranvier$/.exec(name.toLowerCase()) ?? [];
    if (!STREAMS.some((known) => known === stream)) return null;
    if (type === 'SRV') {
      const endpoints = await this.#endpointsOf(first, Math.floor(ANSWER_BYTES / (name.length + RECORD_BYTES)) - 1);
      return endpoints.map(({ label, port }, priority) => ({
        type,
        name,
        ttl: 0,
        // In this order always, so that Caddy's turns pass over nobody.
        data: { target: `${label}.${stream}.${ROOT}`, port, priority, weight: 0 },
      }));
    }
    const address = this.#addresses.get(first)?.address;
    if (address === undefined) return null;
    if (type === 'A' && isIPv4(address)) return [{ type, name, ttl: 0, data: address }];
    if (type === 'AAAA' && isIPv6(address)) return [{ type, name, ttl: 0, data: address }];
    return [];
  }

  /** Where a host's requests are sent: to the responder where no replica takes them, which is right whatever the table. */
  async #endpointsOf(host: string, most: number): Promise<readonly Endpoint[]> {
    const all = this.#zone.get(host);
    if (all === undefined) return [this.#responder];
    const reachable = await this.#reachability.among(some(all, most));
    // The zone may be another by now; what counts is when it was looked at last.
    if (this.#zone.get(host) !== all) return this.#endpointsOf(host, most);
    this.#answered.set(host, performance.now());
    return reachable.length > 0 ? reachable : [this.#responder];
  }
}

/** All, or as many of them as an answer can hold, others each time. */
function some(endpoints: readonly Endpoint[], most: number): readonly Endpoint[] {
  if (endpoints.length <= most) return endpoints;
  const start = Math.floor(Math.random() * endpoints.length);
  return [...endpoints.slice(start), ...endpoints.slice(0, start)].slice(0, most);
}

/** Null for what is no message of DNS. */
function decoded(message: Buffer): packet.DecodedPacket | null {
  try {
    return packet.decode(message);
  } catch {
    return null;
  }
}
