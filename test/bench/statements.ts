import pg from 'pg';

/** Counts the statements that this process sends to PostgreSQL, until `stop` returns their number. */
export function countStatements(): { stop(): number } {
  const client = pg.Client.prototype;
  const { query } = client;
  let count = 0;
  client.query = function (this: pg.Client, ...args: unknown[]) {
    count += 1;
    return Reflect.apply(query, this, args);
  } as typeof query;
  return {
    stop() {
      client.query = query;
      return count;
    },
  };
}
