import pg from 'pg';
import { errorMessage } from '../error-registry.js';
import type { Logger } from '../log.js';
import { LASTING_CONNECTION } from './database-client.js';

/** PostgreSQL NOTIFY channels. A notification only wakes its receiver, which reads the tables. */
export const CHANNELS = {
  /** Payload: a service's id. What the edge serves for the service has changed. */
  route: 'ranvier_route',
  /** Payload: the id of a record, such as a deployment or a run. Its cancellation was requested. */
  cancel: 'ranvier_cancel',
  /** Payload: a host's id. The replicas that the host should run have changed. */
  replica: 'ranvier_replica',
  /** Payload: empty. A record is due, and the process that stored it does not itself hand due records to BullMQ. */
  work: 'ranvier_work',
  /** Payload: a `Summons`. It asks the workers of a host to connect to an API process, for a shell or tunnel. */
  remote: 'ranvier_remote',
} as const;
export type Channel = (typeof CHANNELS)[keyof typeof CHANNELS];

const RECONNECT_MS = 500;

/**
 * A connection that listens for notifications on the channels that have handlers. When it is lost, every handler is called with `null`: notifications may
 * have been missed, so the handler must reconcile everything.
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

  /** Registers a handler and returns the function that removes it. May be called before or after `start`. */
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

  /** Connects; throws if the first attempt fails. A connection lost later is reopened in the background. */
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
      // A standby accepts connections but refuses LISTEN, so each attempt would leave a connection open.
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
