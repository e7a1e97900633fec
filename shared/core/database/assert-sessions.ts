import pg from 'pg';

const CONNECT_MS = 10_000;
/**
 * Number of rounds in which each client runs a query. A pooler usually gives a client the session that was
 * returned last. Some poolers take turns between their sessions, which shows only after several rounds.
 */
const ROUNDS = 3;

/**
 * Throws if `url` leads through a pooler that gives each transaction another session of PostgreSQL.
 * PgBouncer does so with `pool_mode = transaction`. Two processes could then hold the same lock, and notifications
 * would not arrive.
 */
export async function assertSessions(url: string): Promise<void> {
  const clients = Array.from(
    { length: 2 },
    () =>
      new pg.Client({ connectionString: url, application_name: 'ranvier-start', connectionTimeoutMillis: CONNECT_MS }),
  );
  const sessions = clients.map(() => new Set<number>());
  try {
    await Promise.all(clients.map((client) => client.connect()));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, client] of clients.entries()) {
        const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
        for (const { pid } of rows) sessions[i]?.add(pid);
      }
    }
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()));
  }
  const all = new Set(sessions.flatMap((pids) => [...pids]));
  if (all.size === clients.length && sessions.every((pids) => pids.size === 1)) return;
  throw new Error(
    'DATABASE_URL leads through a pooler with transaction pooling: name the server itself, or set "pool_mode = session"',
  );
}
