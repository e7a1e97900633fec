import { EventEmitter } from 'node:events';
import type pg from 'pg';

/** The part of a connection that BullMQ's PostgreSQL backend uses. */
export interface QueueClient extends EventEmitter {
  query(text: string, params?: unknown[]): Promise<pg.QueryResult>;
  release(destroy?: boolean): void;
}

type Send = (text: string, params?: unknown[]) => Promise<pg.QueryResult>;

/**
 * One connection that listens for all workers of a process. BullMQ asks for one for each worker. PostgreSQL wakes every
 * listening connection of a database for each notification, so ten idle ones cost more than the command that notifies.
 */
export class SharedListener {
  readonly #create: () => pg.Client;
  readonly #send: Send;
  readonly #users = new Set<ListeningClient>();
  #connection: Promise<pg.Client> | null = null;
  readonly #channels = new Map<string, Promise<unknown>>();

  /** `create` makes the connection, `send` runs commands that do not listen. */
  constructor(create: () => pg.Client, send: Send) {
    this.#create = create;
    this.#send = send;
  }

  /** A stand-in for a connection: it listens on the shared one, and sends everything else to the pool. */
  client(): QueueClient {
    return new ListeningClient(this.#send, {
      listen: (user, command) => this.#listen(user, command),
      release: (user) => this.#users.delete(user),
    });
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#forget();
    await connection?.then(
      (client) => client.end(),
      () => undefined,
    );
  }

  async #listen(user: ListeningClient, command: string): Promise<void> {
    const connection = this.#connection ?? this.#connect();
    this.#connection = connection;
    const client = await connection;
    this.#users.add(user);
    const listening = this.#channels.get(command) ?? client.query(command);
    this.#channels.set(command, listening);
    await listening;
  }

  #connect(): Promise<pg.Client> {
    const client = this.#create();
    const lost = (error: Error) => this.#lost(connection, error);
    client.on('error', lost);
    client.on('end', () => lost(new Error('the connection on which workers listen has ended')));
    client.on('notification', (message) => {
      for (const user of this.#users) user.emit('notification', message);
    });
    const connection = client.connect().then(
      () => client,
      (error: Error) => {
        if (this.#connection === connection) this.#forget();
        throw error;
      },
    );
    return connection;
  }

  /** Tells the workers, each of which then asks for a new client. */
  #lost(connection: Promise<pg.Client>, error: Error): void {
    if (this.#connection !== connection) return;
    const users = [...this.#users];
    this.#forget();
    this.#users.clear();
    for (const user of users) if (user.listenerCount('error') > 0) user.emit('error', error);
    connection.then((client) => client.end()).catch(() => undefined);
  }

  #forget(): void {
    this.#connection = null;
    this.#channels.clear();
  }
}

interface Shared {
  listen(user: ListeningClient, command: string): Promise<void>;
  release(user: ListeningClient): void;
}

class ListeningClient extends EventEmitter implements QueueClient {
  readonly #send: Send;
  readonly #shared: Shared;

  constructor(send: Send, shared: Shared) {
    super();
    this.#send = send;
    this.#shared = shared;
  }

  async query(text: string, params?: unknown[]): Promise<pg.QueryResult> {
    if (/^\s*(--[^\n]*\n\s*)*listen\b/i.test(text)) {
      await this.#shared.listen(this, text);
      return NOTHING;
    }
    // A worker names its connection after its queue. This one belongs to all of them.
    if (/\bset_config\s*\(\s*'application_name'/i.test(text)) return NOTHING;
    return this.#send(text, params);
  }

  release(): void {
    this.#shared.release(this);
  }
}

const NOTHING = { rows: [] } as unknown as pg.QueryResult;
