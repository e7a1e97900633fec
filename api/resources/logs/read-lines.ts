import type { Knex } from 'knex';
import { type Db, rowsOf } from '../../../shared/core/database/database-client.js';
import { expiryDaysOf } from '../../../shared/logs/log-retention.js';
import type { LogLineRow, LogSource } from '../../../shared/logs/model.js';

export interface LogQuery {
  serviceId: string;
  deploymentId?: string | undefined;
  runId?: string | undefined;
  /** If set, lines of deployments from other branches are excluded. */
  branch?: string | undefined;
  source?: LogSource | undefined;
  /** Text that the message must contain. Upper and lower case are not distinguished. */
  search?: string | undefined;
  /** Excludes lines older than this many hours. */
  hours: number;
  /** If set, only lines with a greater id are returned. If absent, the newest lines are returned. */
  after?: number | undefined;
  /** If set, only the newest of the lines with a smaller id are returned. Cannot be combined with `after`. */
  before?: number | undefined;
  limit: number;
}

/** Maximum size of the messages in a response, in bytes. A response contains at least one line, however long. */
const ANSWER_BYTES = 2 * 1024 * 1024;

/** Log lines in ascending order of their ids (specification, Logs), and where the next request continues. */
export interface LogBatch {
  lines: LogLineRow[];
  /**
   * With `after`: true if there are later lines, or if a search ran out of time before it had examined all of them.
   * Otherwise false.
   */
  hasMore: boolean;
  /** The value of `after` for the next request. */
  cursor: number;
  /** If a search ran out of time, the id of the oldest line that it examined; otherwise null. */
  unsearchedBefore: number | null;
}

/** Maximum number of lines that one SQL statement of a search examines. */
const LOOKED_AT_ONCE = 25_000;
/** Time after which a search starts no further SQL statement, in milliseconds. */
const SEARCH_MS = 500;

/** Reads log lines in bounded time, even from a very large log: a search stops after half a second. */
export async function readLogs(db: Db, query: LogQuery, now = new Date()): Promise<LogBatch> {
  const since = new Date(now.getTime() - query.hours * 3_600_000);
  const reader = new LogReader(db, query, since, expiryDaysOf(since, now));
  if (isFiltered(query)) return reader.search();
  return query.after === undefined ? reader.newest() : reader.later(query.after);
}

/** Returns true if the query has a filter without an index, so that every line may have to be examined. */
export function isFiltered({
  search,
  source,
  branch,
}: Partial<Pick<LogQuery, 'search' | 'source' | 'branch'>>): boolean {
  return Boolean(search) || source !== undefined || branch !== undefined;
}

type Place = Pick<LogLineRow, 'id' | 'logged_at'>;

const CLOCKS_MS = 3_600_000;

class LogReader {
  readonly #db: Db;
  readonly #query: LogQuery;
  readonly #since: Date;
  readonly #days: string[];

  constructor(db: Db, query: LogQuery, since: Date, days: string[]) {
    this.#db = db;
    this.#query = query;
    this.#since = since;
    this.#days = days;
  }

  async newest(): Promise<LogBatch> {
    const { before, limit } = this.#query;
    const lines = this.#lines().where('id', '>', this.#lastTooOld(0)).orderBy('id', 'desc').limit(limit);
    if (before !== undefined) lines.where('id', '<', before);
    const { lines: found } = await firstOf(this.#db, lines, 'desc');
    return this.#batch(found.reverse(), {});
  }

  async later(after: number): Promise<LogBatch> {
    const { limit } = this.#query;
    const lines = this.#lines()
      .where('id', '>', this.#lastTooOld(after))
      .orderBy('id', 'asc')
      .limit(limit + 1);
    const { lines: later, found } = await firstOf(this.#db, lines, 'asc');
    const page = later.slice(0, limit);
    return this.#batch(page, { hasMore: found > page.length });
  }

  async search(): Promise<LogBatch> {
    return this.#query.after === undefined ? this.#searchBack() : this.#searchOn(this.#query.after);
  }

  async #searchBack(): Promise<LogBatch> {
    const { before, limit } = this.#query;
    const end = performance.now() + SEARCH_MS;
    const found: LogLineRow[] = [];
    for (let below = before ?? Number.MAX_SAFE_INTEGER; ; ) {
      const step = await this.#reach('desc', below);
      // If the last line of this step is too old, the search ends: ids increase with time, so all lines before it are
      // too old.
      const least = step && !this.#isBefore(step) ? step.id : null;
      const rest = this.#matching()
        .where('id', '<', below)
        .orderBy('id', 'desc')
        .limit(limit - found.length);
      if (step !== null) rest.where('id', '>=', step.id);
      const { lines, found: matched } = await firstOf(this.#db, rest, 'desc');
      found.push(...lines);
      const fitting = found.slice(0, fit(found));
      if (fitting.length >= limit || fitting.length < found.length || matched > lines.length) {
        return this.#batch(fitting.reverse(), {});
      }
      if (least === null) return this.#batch(found.reverse(), {});
      if (performance.now() >= end) return this.#batch(found.reverse(), { unsearchedBefore: least });
      below = least;
    }
  }

  async #searchOn(after: number): Promise<LogBatch> {
    const { limit } = this.#query;
    const end = performance.now() + SEARCH_MS;
    const found: LogLineRow[] = [];
    for (let above = after; ; ) {
      const step = await this.#reach('asc', above);
      const most = step?.id ?? null;
      if (step && this.#isBefore(step) && performance.now() < end) {
        above = step.id;
        continue;
      }
      const rest = this.#matching()
        .where('id', '>', above)
        .orderBy('id', 'asc')
        .limit(limit + 1 - found.length);
      if (most !== null) rest.where('id', '<=', most);
      const { lines, found: matched } = await firstOf(this.#db, rest, 'asc');
      found.push(...lines);
      const page = found.slice(0, Math.min(fit(found), limit));
      if (page.length < found.length || matched > lines.length) return this.#batch(page, { hasMore: true });
      if (most === null) return this.#batch(found, {});
      // The next request continues after the last line that was examined, even if it did not match.
      if (performance.now() >= end) return this.#batch(found, { hasMore: true, cursor: most });
      above = most;
    }
  }

  /** Returns the last of the next LOOKED_AT_ONCE lines to search; null if fewer lines are left. */
  async #reach(order: 'asc' | 'desc', from: number): Promise<Place | null> {
    const [row] = await rowsOf<Place>(
      this.#db,
      `select id, logged_at from log_lines
        where service_id = :serviceId and expires_on = any(cast(:days as date[]))
          and id ${order === 'asc' ? '>' : '<'} :from
        order by id ${order} offset ${LOOKED_AT_ONCE - 1} limit 1`,
      { serviceId: this.#query.serviceId, days: this.#days, from },
    );
    return row ?? null;
  }

  /**
   * Returns SQL for an id that is at least `after`. All lines between `after` and this id are too old. A query that
   * starts at this id does not have to visit them.
   */
  #lastTooOld(after: number): Knex.Raw {
    return this.#db.raw(
      `(with recursive halves(low, high) as (
          select cast(:after as bigint), last_id + 1 from log_counters where service_id = :serviceId
          union all
          select case when is_old then middle else low end, case when is_old then high else middle end
            from (select low, high, middle,
                         coalesce((select logged_at < cast(:oldest as timestamptz) from log_lines
                                    where service_id = :serviceId and id >= middle and expires_on = any(cast(:days as date[]))
                                    order by id limit 1), false) as is_old
                    from (select low, high, (low + high) / 2 as middle from halves where high - low > 1) half) judged
        ) select coalesce(max(low), cast(:after as bigint)) from halves)`,
      { after, serviceId: this.#query.serviceId, days: this.#days, oldest: this.#oldest() },
    );
  }

  /** Returns the time before which lines are too old. The clocks of workers may differ by up to CLOCKS_MS. */
  #oldest(): Date {
    return new Date(this.#since.getTime() - CLOCKS_MS);
  }

  #isBefore({ logged_at }: Place): boolean {
    return logged_at < this.#oldest();
  }

  #lines(): Knex.QueryBuilder<LogLineRow> {
    const { serviceId, deploymentId, runId } = this.#query;
    const lines = this.#db<LogLineRow>('log_lines')
      .where('service_id', serviceId)
      .where('logged_at', '>=', this.#since)
      // The days are values and not computed from now(), so that the planner can skip the partitions of other days.
      .whereRaw('expires_on = any(cast(? as date[]))', [this.#days]);
    if (deploymentId !== undefined) lines.where('deployment_id', deploymentId);
    if (runId !== undefined) lines.where('run_id', runId);
    return lines;
  }

  #matching(): Knex.QueryBuilder<LogLineRow> {
    const { serviceId, branch, source, search } = this.#query;
    const lines = this.#lines();
    if (branch !== undefined) {
      const others = this.#db('deployments').where('service_id', serviceId).whereNot('branch', branch).select('id');
      lines.where((line) => line.whereNull('deployment_id').orWhereNotIn('deployment_id', others));
    }
    if (source !== undefined) lines.where('source', source);
    if (search) lines.whereRaw('message ilike ?', [`%${search.replace(/[\\%_]/g, '\\$&')}%`]);
    return lines;
  }

  #batch(lines: LogLineRow[], rest: Partial<LogBatch>): LogBatch {
    const cursor = lines.at(-1)?.id ?? this.#query.after ?? 0;
    return { lines, hasMore: false, cursor, unsearchedBefore: null, ...rest };
  }
}

function fit(lines: readonly LogLineRow[]): number {
  let bytes = 0;
  const past = lines.findIndex(({ message }) => {
    const begins = bytes;
    bytes += Buffer.byteLength(message);
    return begins >= ANSWER_BYTES;
  });
  return past < 0 ? lines.length : past;
}

/** Returns the first lines that fit into one response, and how many lines the query found. */
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
