import type { Knex } from 'knex';

interface Position {
  createdAt: Date;
  id: string;
}

/** At most `limit` records that follow `after` (specification, Pagination). */
export interface PageRequest {
  limit: number;
  after: Position | null;
}

export interface Page<T> {
  items: T[];
  hasMore: boolean;
}

export const COMPLETE: PageRequest = { limit: Number.POSITIVE_INFINITY, after: null };

/** Runs a query for one page, newest first. `table` is the table or alias with `created_at` and `id`. */
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

export function pageOf<T extends object>(
  db: Knex,
  table: string,
  match: Readonly<Record<string, string | null>>,
  page: PageRequest,
): Promise<Page<T>> {
  const rows: Knex.QueryBuilder<T> = db(table).where(match).select('*');
  return fetchPage<T>(rows, table, page);
}
