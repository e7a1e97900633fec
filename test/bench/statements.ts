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

/** Statements of the server's log by key. `times` are the milliseconds of all executions together. */
export interface Logged {
  counts: Map<string, number>;
  times: Map<string, number>;
}

const PREFIX = 'application=';
let logged: Logged | null = null;
let keyOf = (application: string, _text: string): string => application;

/** Receives each line of the server's log, for `countLogged` and `plansOf`. */
export function noteLogLine(line: string): void {
  if (explained !== null) notePlanLine(explained, line);
  const found = /^application=(\S*) LOG: +duration: (\S+) ms +(parse|bind|execute|statement)[^:]*: (.*)/.exec(line);
  if (!found || logged === null) return;
  const [, application = '', ms, phase, text = ''] = found;
  const key = keyOf(application, text);
  logged.times.set(key, (logged.times.get(key) ?? 0) + Number(ms));
  if (phase === 'execute' || phase === 'statement') logged.counts.set(key, (logged.counts.get(key) ?? 0) + 1);
}

/** Counts the statements of all processes during the work, by connection name or by what `key` returns. */
export async function countLogged(
  db: Db,
  work: () => Promise<unknown>,
  key: typeof keyOf = (application) => application,
): Promise<Logged> {
  const set = async (minDuration: number) => {
    await db.raw(`alter system set log_line_prefix = '${PREFIX}%a '`);
    await db.raw(`alter system set log_min_duration_statement = ${minDuration}`);
    await db.raw('select pg_reload_conf()');
  };
  const result: Logged = { counts: new Map(), times: new Map() };
  await set(0);
  try {
    logged = result;
    keyOf = key;
    await work();
  } finally {
    logged = null;
    await set(-1);
  }
  return result;
}

/** What a statement read. */
export interface Plan {
  /** Rows of tables that it read, whether it needed them or not. */
  rows: number;
  scans: { table: string; rows: number }[];
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

const MARK = 'end of the plans';
let explained: { text: string; ended: () => void } | null = null;

/** Lets connections that are opened from now on explain their statements for `plansOf`. */
export async function explainAll(db: Db): Promise<void> {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    log_line_prefix: `${PREFIX}%a `,
  };
  for (const [name, value] of Object.entries(settings)) await db.raw(`alter system set ${name} = '${value}'`);
  await db.raw('select pg_reload_conf()');
}

/** Returns the plans of the API's statements during the work. Requires `explainAll`. */
export async function plansOf(db: Db, work: () => Promise<unknown>): Promise<Plan[]> {
  const set = async (value: number) => {
    await db.raw(`alter system set auto_explain.log_min_duration = ${value}`);
    await db.raw('select pg_reload_conf()');
  };
  const found = { text: '', ended: () => {} };
  const ended = new Promise<void>((resolve) => {
    found.ended = resolve;
  });
  await set(0);
  try {
    // Connections take the setting up before their next statement, and pooled ones may run several at once.
    await work();
    explained = found;
    await work();
    await db.raw(`do $$ begin raise log '${MARK}'; end $$`);
    await ended;
  } finally {
    explained = null;
    await set(-1);
  }
  return found.text
    .split(PREFIX)
    .filter((entry) => entry.startsWith('ranvier-api ') && entry.includes('plan:'))
    .map((entry) => planOf(JSON.parse(entry.slice(entry.indexOf('{')))));
}

function notePlanLine(plans: NonNullable<typeof explained>, line: string): void {
  plans.text += `${line}\n`;
  if (line.includes(MARK) && line.includes('LOG:')) plans.ended();
}

function planOf({ Plan: root }: { Plan: PlanNode }): Plan {
  const plan: Plan = { rows: 0, scans: [] };
  const visit = (node: PlanNode) => {
    const { 'Node Type': type, 'Relation Name': table, 'Actual Rows': kept = 0, 'Actual Loops': loops = 1 } = node;
    const rows =
      (kept + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
      Math.max(1, loops);
    if (table !== undefined && type.includes('Scan')) plan.rows += rows;
    if (table !== undefined && type === 'Seq Scan') plan.scans.push({ table, rows });
    for (const inner of node.Plans ?? []) visit(inner);
  };
  visit(root);
  return plan;
}
