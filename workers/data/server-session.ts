import type { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { onAbort } from '../../shared/core/on-abort.js';

const CONNECT_MS = 5_000;
/** How long to wait for a server to close a session before the connection is destroyed, in milliseconds. */
const END_MS = 1_000;
/** Maximum size of a statement's result, in bytes. A program that pretends to be PostgreSQL may send data endlessly. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/**
 * Overrides settings that the tenant may have set for its database or user. With this `search_path`, a tenant's object
 * is used only if a statement names its schema.
 */
const SETTINGS = {
  search_path: 'pg_catalog',
  role: 'none',
  default_transaction_read_only: 'off',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};

/** The address of a server that a tenant controls. `path` is a Unix socket, which needs no password. */
export interface SessionAddress {
  user: string;
  database: string;
  path?: string;
  host?: string;
  port?: number;
  password?: string;
}

/**
 * Runs `work` in a session on a tenant's PostgreSQL, which may be any program. So its results are limited in size, and
 * instead of the password it gets a hash that only the genuine server can verify.
 */
export async function withSession<T>(
  { path, password = 'none', ...address }: SessionAddress,
  { signal, name = 'ranvier' }: { signal: AbortSignal; name?: string },
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  if (path !== undefined) socket.connect = () => connect({ path });
  const client = new pg.Client({
    ...address,
    // If no password were set here, pg would send one from the environment or from a file of the host.
    password,
    ssl: false,
    stream: () => socket,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: name,
    options: Object.entries(SETTINGS)
      .map(([setting, value]) => `-c ${setting}=${value}`)
      .join(' '),
  });
  // A connection that breaks between queries must not crash this process.
  client.on('error', () => undefined);
  let received = 0;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > MAX_ANSWER_BYTES) socket.destroy(new Error('the answer of the server is too large'));
  });
  client.on('drain', () => {
    received = 0;
  });
  const messages: EventEmitter = Reflect.get(client, 'connection');
  for (const way of ['authenticationCleartextPassword', 'authenticationMD5Password']) {
    messages.on(way, () => socket.destroy(new Error('the server asks for the password itself')));
  }
  const forgetAbort = onAbort(signal, () => socket.destroy(new Error('the session was given up')));
  try {
    await client.connect();
    return await work(client);
  } finally {
    forgetAbort();
    await Promise.race([client.end().catch(() => undefined), delay(END_MS, undefined, { ref: false })]);
    socket.destroy();
  }
}
