import pg from 'pg';
import { errorMessage } from '../error-registry.js';
import type { Logger } from '../log.js';
import { LASTING_CONNECTION } from './database-client.js';

/** Channels of PostgreSQL NOTIFY. A notification only wakes its receiver, which then reads the tables. */
export const CHANNELS = {
  /** What the edge serves for a service has changed. The payload is the service's id. */
  route: 'ranvier_route',
  /** The cancellation of a deployment, run or other record was requested. The payload is the record's id. */
  cancel: 'ranvier_cancel',
  /** The replicas that a host should run have changed. The payload is the host's id. */
  replica: 'ranvier_replica',
  /** A record is due, and the process that stored it does not itself hand due records to BullMQ. */
  work: 'ranvier_work',
  /** The workers of a host should connect to an API process, for a shell or a tunnel. The payload is a `Summons`. */
  remote: 'ranvier_remote',
} as const;
export type Channel = (typeof CHANNELS)[keyof typeof CHANNELS];

const RECONNECT_MS = 500;

/**
 * Listens on the channels that have handlers. After a lost connection, each handler is called with `null` and must
 * reconcile everything, because notifications may have been missed.
 */
export class Listener {
  readonly #url: string;
  readonly #log: Logger;
  readonly #handlers = new Map<Channel, Set<(payload: string | null) => void>>();
  #client: pg.Client | null = null;
  #retry: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(url: string, log: Logger) {
    this.#url = url;
    this.#log = log;
  }

  /** Registers a handler and returns the function that removes it. */
  on(channel: Channel, handler: (payload: string | null) => void): () => void {
    const handlers = this.#handlers.get(channel) ?? new Set();
    handlers.add(handler);
    if (!this.#handlers.has(channel)) {
      this.#handlers.set(channel, handlers);
      // If the connection is lost, the next one listens to all channels.
      this.#client?.query(`listen ${channel}`).catch(() => undefined);
    }
    return () => void handlers.delete(handler);
  }

  /** Connects, and reconnects whenever the connection is lost. Throws if the first attempt fails. */
  async start(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'ranvier-listen',
      ...LASTING_CONNECTION,
    });
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ channel, payload }) => this.#ring(channel as Channel, payload ?? ''));
    try {
      await client.connect();
      for (const channel of this.#handlers.keys()) await client.query(`listen ${channel}`);
    } catch (error) {
      // A standby accepts connections but refuses LISTEN, so without this each attempt would leave a connection open.
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#retry) clearTimeout(this.#retry);
    await this.#client?.end().catch(() => undefined);
  }

  #ring(channel: Channel, payload: string | null): void {
    for (const handler of this.#handlers.get(channel) ?? []) handler(payload);
  }

  #lost(client: pg.Client): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = null;
    this.#reconnect();
  }

  #reconnect(): void {
    this.#retry = setTimeout(async () => {
      try {
        await this.start();
        for (const channel of this.#handlers.keys()) this.#ring(channel, null);
      } catch (error) {
        this.#log.warn(`cannot listen for notifications yet: ${errorMessage(error)}`);
        if (!this.#closed) this.#reconnect();
      }
    }, RECONNECT_MS);
  }
}
