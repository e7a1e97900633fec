import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4, isIPv6 } from 'node:net';
import packet from 'dns-packet';
import { errorMessage } from '../../../shared/errors.js';
import type { Logger } from '../../../shared/log.js';
import { changedHosts, type Endpoint, endpointsLeft, type Zone } from './zone.js';

const LOOPBACK = '127.0.0.1';
/** A root of our own; these names never leave this host. */
const ROOT = 'ranvier';
/** Requests whose answers come to an end, and those that may last (upgrades, event streams). */
export const STREAMS = ['plain', 'stream'] as const;
export type Stream = (typeof STREAMS)[number];
/** What Go's resolver reads of one answer is 1232 bytes. */
const MAX_BYTES = 1_200;
const NXDOMAIN = 3;
const RESPONDER = 'responder';

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
 * replicas' addresses for as long as they are in the zone. Answers on loopback only, with a time to live of 0.
 */
export class NameServer {
  readonly #log: Logger;
  /** When each host of the zone was asked for last. */
  readonly #answered = new Map<string, number>();
  #socket: Socket | null = null;
  #zone: Zone = new Map();
  #addresses = new Map<string, string>();
  #responder: Endpoint = { label: RESPONDER, address: LOOPBACK, port: 0 };

  constructor(log: Logger) {
    this.#log = log;
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
    socket.on('message', (message, sender) => this.#answer(socket, message, sender));
    this.#socket = socket;
  }

  /** Answers by this zone from now on. */
  serve(zone: Zone): ZoneChange {
    const times = changedHosts(this.#zone, zone).flatMap((host) => this.#answered.get(host) ?? []);
    for (const host of this.#answered.keys()) if (!zone.has(host)) this.#answered.delete(host);
    const left = endpointsLeft(this.#zone, zone);
    const endpoints = [this.#responder, ...[...zone.values()].flat()];
    this.#zone = zone;
    this.#addresses = new Map(endpoints.map(({ label, address }) => [label, address]));
    return { left, lastAnswered: times.length === 0 ? null : Math.max(...times) };
  }

  /** Whether an endpoint is named again. */
  names({ label }: Endpoint): boolean {
    return this.#addresses.has(label);
  }

  close(): void {
    this.#socket?.close();
    this.#socket = null;
  }

  #answer(socket: Socket, message: Buffer, { port, address }: RemoteInfo): void {
    const query = decoded(message);
    const question = query?.questions?.[0];
    if (query === null || question === undefined) return;
    const answers = this.#records(question.type, question.name);
    const base = { type: 'response', ...(query.id === undefined ? {} : { id: query.id }) } as const;
    const flags = packet.AUTHORITATIVE_ANSWER | (answers === null ? NXDOMAIN : 0);
    const encoded = () => packet.encode({ ...base, flags, questions: [question], answers: answers ?? [] });
    let bytes = encoded();
    // Of too many replicas each answer names some, drawn anew each time.
    for (; bytes.length > MAX_BYTES && answers; bytes = encoded()) answers.splice(randomIndex(answers.length), 1);
    socket.send(bytes, port, address, (error) => {
      if (error) this.#log.debug(`an answer of the edge's name server was not sent: ${errorMessage(error)}`);
    });
  }

  /** Null for a name that does not exist. */
  #records(type: string, name: string): packet.Answer[] | null {
    const [, first = '', stream = ''] = /^(.+)\.([a-z]+)\.ranvier$/.exec(name.toLowerCase()) ?? [];
    if (!STREAMS.some((known) => known === stream)) return null;
    if (type === 'SRV') {
      const endpoints = this.#zone.get(first);
      // What went to the responder is right whatever the table.
      if (endpoints !== undefined) this.#answered.set(first, performance.now());
      return (endpoints ?? [this.#responder]).map(({ label, port }) => ({
        type,
        name,
        ttl: 0,
        data: { target: `${label}.${stream}.${ROOT}`, port, priority: 0, weight: 1 },
      }));
    }
    const address = this.#addresses.get(first);
    if (address === undefined) return null;
    if (type === 'A' && isIPv4(address)) return [{ type, name, ttl: 0, data: address }];
    if (type === 'AAAA' && isIPv6(address)) return [{ type, name, ttl: 0, data: address }];
    return [];
  }
}

function randomIndex(length: number): number {
  return Math.floor(Math.random() * length);
}

/** Null for what is no message of DNS. */
function decoded(message: Buffer): packet.DecodedPacket | null {
  try {
    return packet.decode(message);
  } catch {
    return null;
  }
}
