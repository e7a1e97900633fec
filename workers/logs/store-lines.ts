import type { Db } from '../../shared/core/database/database-client.js';
import { prepare, rowOfPrepared } from '../../shared/core/database/prepared.js';
import { DAYS_TO_EXPIRY, expiresOn, type LogLine, type LogSource } from '../../shared/logs/model.js';
import { insertLogBatches, type NewLogBatch, partsOf } from './batch-store.js';

/**
 * One statement increments the counter and inserts the lines. The counter's row stays locked until the commit, so ids
 * appear in commit order, and a reader who follows the cursor misses no line. The statement stores nothing while
 * batches of the service wait, because their lines are older.
 */
const STORE = prepare<{ stored: number }>(
  `with kept as (
     select s.id, ${DAYS_TO_EXPIRY} as days from services s
      where s.id = $1 and not exists (select from log_batches b where b.service_id = $1)
   ), raised as (
     insert into log_counters as c (service_id, last_id) select id, cast($3 as bigint) from kept
     on conflict (service_id) do update set last_id = c.last_id + excluded.last_id
      where not exists (select from log_batches b where b.service_id = $1)
     returning c.last_id - $3 as before
   ), stored as (
     insert into log_lines (service_id, id, deployment_id, run_id, source, level, message, logged_at, expires_on)
     select $1, raised.before + l.place, cast($2 as uuid), cast($8 as uuid), l.source, l.level, l.message, l.logged_at, ${expiresOn('l.logged_at', 'kept.days')}
       from raised, kept,
            unnest(cast($4 as text[]), cast($5 as text[]), cast($6 as text[]), cast($7 as timestamptz[]))
              with ordinality as l(source, level, message, logged_at, place)
   )
   select count(*) as stored from raised`,
);

/** Stores lines in a service's log (specification, Logs). Returns false if they wait behind older batches. */
export function storeLines(db: Db, batch: NewLogBatch): Promise<boolean> {
  return storeBatches(db, [batch]);
}

/** Stores consecutive batches of one deployment and one run, like `storeLines`. If it throws, stores none. */
export async function storeBatches(db: Db, batches: readonly NewLogBatch[]): Promise<boolean> {
  const [first] = batches;
  if (first === undefined) return true;
  const lines = batches.flatMap(({ source, lines }) => lines.map((line) => ({ ...line, source })));
  const parts = [...partsOf(lines)];
  const store = async (on: Db) => {
    for (const [index, part] of parts.entries()) {
      if (await storePart(on, first, part)) continue;
      await insertLogBatches(on, batchesOf(first, parts.slice(index).flat()));
      return false;
    }
    return true;
  };
  return parts.length > 1 ? db.transaction(store) : store(db);
}

type SourcedLine = LogLine & { source: LogSource };
type Owner = Pick<NewLogBatch, 'serviceId' | 'deploymentId' | 'runId'>;

/** Splits lines into batches, each with lines of one source. Keeps their order. */
export function batchesOf(
  { serviceId, deploymentId, runId = null }: Owner,
  lines: readonly SourcedLine[],
): NewLogBatch[] {
  const batches: NewLogBatch[] = [];
  for (const { source, ...line } of lines) {
    const last = batches.at(-1);
    if (last?.source === source) last.lines.push(line);
    else batches.push({ serviceId, deploymentId, runId, source, lines: [line] });
  }
  return batches;
}

/** Stores lines in one statement. Returns false, and stores none, if older lines of the service are waiting. */
async function storePart(
  db: Db,
  { serviceId, deploymentId, runId = null }: Owner,
  lines: readonly SourcedLine[],
): Promise<boolean> {
  const column = (of: (line: SourcedLine) => string) => lines.map(of);
  const row = await rowOfPrepared(db, STORE, [
    serviceId,
    deploymentId,
    lines.length,
    column(({ source }) => source),
    column(({ level }) => level),
    column(({ message }) => message),
    column(({ timestamp }) => timestamp),
    runId,
  ]);
  return row?.stored === 1;
}
