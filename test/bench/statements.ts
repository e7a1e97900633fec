import pg from 'pg';
import type { Db } from '../../shared/core/database/database-client.js';

/** Counts the statements that this process sends to PostgreSQL, until `stop` returns their number. */
export function countStatements(): { stop(): number } {
  const connection = pg.Connection.prototype;
  const { query, execute } = connection;
  let count = 0;
  connection.query = function (this: pg.Connection, text) {
    count += 1;
    query.call(this, text);
  };
  connection.execute = function (this: pg.Connection, config, more) {
    count += 1;
    execute.call(this, config, more);
  };
  return {
    stop() {
      Object.assign(connection, { query, execute });
      return count;
    },
  };
}

const PREFIX = 'application=';
let logged: Map<string, number> | null = null;

/** Receives each line of the server's log, for `countLogged`. */
export function noteLogLine(line: string): void {
  const found = /^application=(\S*) LOG: +(?:execute|statement)/.exec(line);
  if (found && logged) logged.set(found[1] ?? '', (logged.get(found[1] ?? '') ?? 0) + 1);
}

/** Counts the statements of all processes during the work, by connection name, from the server's log. */
export async function countLogged(db: Db, work: () => Promise<unknown>): Promise<Map<string, number>> {
  const set = async (statements: string) => {
    await db.raw(`alter system set log_line_prefix = '${PREFIX}%a '`);
    await db.raw(`alter system set log_statement = '${statements}'`);
    await db.raw('select pg_reload_conf()');
  };
  const counts = new Map<string, number>();
  await set('all');
  try {
    logged = counts;
    await work();
  } finally {
    logged = null;
    await set('none');
  }
  return counts;
}
