import pg from 'pg';
import type { Db } from '../../shared/core/database/client.js';

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

const PREFIX = 'application=';
let logged: Map<string, number> | null = null;

/** Given each line of the server's log, for `countLogged`. */
export function noteLogLine(line: string): void {
  const found = /^application=(\S*) LOG: +(?:execute|statement)/.exec(line);
  if (found && logged) logged.set(found[1] ?? '', (logged.get(found[1] ?? '') ?? 0) + 1);
}

/** The statements of all processes while the work runs, by the name of their connections. The server's log has them. */
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
