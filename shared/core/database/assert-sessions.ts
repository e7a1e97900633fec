import pg from 'pg';
import { LASTING_CONNECTION } from './database-client.js';

/**
 * Number of rounds in which each client runs a query. A pooler usually gives a client the session that was
 * returned last. Some poolers take turns between their sessions, which shows only after several rounds.
 */
const ROUNDS = 3;

/**
 * Throws if `url` leads through a pooler that gives a client another session for each transaction. PgBouncer does so
 * with `pool_mode = transaction`. Two processes could then hold the same lock, and notifications would not arrive.
 */
export async function assertSessions(url: string): Promise<void> {
  const options = { connectionString: url, application_name: 'ranvier-start', ...LASTING_CONNECTION };
  const clients = [new pg.Client(options), new pg.Client(options)];
  const pids: number[] = [];
  try {
    await Promise.all(clients.map((client) => client.connect()));
    for (let round = 0; round < ROUNDS; round++) {
      for (const client of clients) {
        const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
        pids.push(...rows.map(({ pid }) => pid));
      }
    }
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()));
  }
  const [first, second] = pids;
  if (first !== second && pids.every((pid, i) => pid === (i % 2 === 0 ? first : second))) return;
  throw new Error(
    'DATABASE_URL leads through a pooler with transaction pooling: name the server itself, or set "pool_mode = session"',
  );
}
