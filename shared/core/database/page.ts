import type { Knex } from 'knex';

/** A position in a collection: the last record of the previous page. */
interface Position {
  createdAt: Date;
  id: string;
}

/** A request for one page: at most `limit` records that follow the position (specification, Pagination). */
export interface PageRequest {
  limit: number;
  after: Position | null;
}

export interface Page<T> {
  items: T[];
  hasMore: boolean;
}

/** The whole collection in one page. */
export const COMPLETE: PageRequest = { limit: Number.POSITIVE_INFINITY, after: null };

/**
 * Runs a query for one page, ordered by creation time and then id, both descending.
 * `table` is the table or alias that has `created_at` and `id`. Times are stored with millisecond precision, so a
 * `Date` represents them exactly.
 */
export async function fetchPage<T extends object>(
  query: Knex.QueryBuilder<T>,
  table: string,
  { limit, after }: PageRequest,
): Promise<Page<T>> {
  query.orderBy([
    { column: `${table}.created_at`, order: 'desc' },
    { column: `${table}.id`, order: 'desc' },
  ]);
  if (after) query.whereRaw('(??, ??) < (?, ?)', [`${table}.created_at`, `${table}.id`, after.createdAt, after.id]);
  // One extra row shows whether there is a next page.
  if (Number.isFinite(limit)) query.limit(limit + 1);
  const rows = (await query) as T[];
  return { items: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** Returns one page of a table's matching rows, newest first. */
export function pageOf<T extends object>(
  db: Knex,
  table: string,
  match: Readonly<Record<string, string | null>>,
  page: PageRequest,
): Promise<Page<T>> {
  const rows: Knex.QueryBuilder<T> = db(table).where(match).select('*');
  return fetchPage<T>(rows, table, page);
}
