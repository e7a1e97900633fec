import type { Knex } from 'knex';
import type { Db } from '../core/database/client.js';
import type { LogLineRow, LogSource } from './model.js';

export interface LogQuery {
  serviceId: string;
  deploymentId?: string | undefined;
  /** Leaves out what deployments of other branches wrote. */
  branch?: string | undefined;
  source?: LogSource | undefined;
  /** A part of the message, in any case. */
  search?: string | undefined;
  /** Lines that are older are left out. */
  hours: number;
  /** Lines with a greater id; without it the newest lines. */
  after?: number | undefined;
  limit: number;
}

/** Messages of one answer: a line that begins within this many bytes is part of it. */
const ANSWER_BYTES = 2 * 1024 * 1024;

/** A batch in ascending order of id, and whether there are later lines (specification, Logs). */
export async function readLogs(db: Db, query: LogQuery): Promise<{ lines: LogLineRow[]; hasMore: boolean }> {
  const { serviceId, deploymentId, branch, source, search, hours, after, limit } = query;
  const lines = db<LogLineRow>('log_lines')
    .where('service_id', serviceId)
    .whereRaw(`logged_at >= now() - ? * interval '1 hour'`, [hours]);
  if (deploymentId !== undefined) lines.where('deployment_id', deploymentId);
  if (branch !== undefined) {
    const others = db('deployments').where('service_id', serviceId).whereNot('branch', branch).select('id');
    lines.where((line) => line.whereNull('deployment_id').orWhereNotIn('deployment_id', others));
  }
  if (source !== undefined) lines.where('source', source);
  if (search) lines.whereRaw('message ilike ?', [`%${search.replace(/[\\%_]/g, '\\$&')}%`]);
  if (after === undefined) {
    const newest = await firstOf(db, lines.orderBy('id', 'desc').limit(limit), 'desc');
    return { lines: newest.lines.reverse(), hasMore: false };
  }
  const { lines: later, found } = await firstOf(
    db,
    lines
      .where('id', '>', after)
      .orderBy('id', 'asc')
      .limit(limit + 1),
    'asc',
  );
  const page = later.slice(0, limit);
  return { lines: page, hasMore: found > page.length };
}

/** The first lines of a query that fit into one answer, at least one, and how many the query has found. */
async function firstOf(
  db: Db,
  query: Knex.QueryBuilder,
  order: 'asc' | 'desc',
): Promise<{ lines: LogLineRow[]; found: number }> {
  const summed = db
    .select('line.*', db.raw('count(*) over () as found'))
    .select(db.raw(`sum(octet_length(message)) over (order by id ${order}) - octet_length(message) as before`))
    .from(query.select('*').as('line'));
  const rows: (LogLineRow & { found: number })[] = await db
    .select('*')
    .from(summed.as('summed'))
    .where('before', '<', ANSWER_BYTES)
    .orderBy('id', order);
  return { lines: rows, found: rows[0]?.found ?? 0 };
}
