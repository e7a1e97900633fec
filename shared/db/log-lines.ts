import type { LogSource } from '../domain/log.js';
import type { Db } from './client.js';
import type { LogLineRow } from './rows.js';

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
    const newest = (await lines.orderBy('id', 'desc').limit(limit)) as LogLineRow[];
    return { lines: newest.reverse(), hasMore: false };
  }
  const later = (await lines
    .where('id', '>', after)
    .orderBy('id', 'asc')
    .limit(limit + 1)) as LogLineRow[];
  return { lines: later.slice(0, limit), hasMore: later.length > limit };
}
