import { type Db, rowCountOf, rowsOf } from '../../shared/core/database/database-client.js';
import type { DrainSignal } from '../../shared/drains/model.js';

/** A signal (logs, metrics or traces) of a drain that this process has claimed. */
export interface TakenSignal {
  drain_id: string;
  signal: DrainSignal;
  takes: number;
  tries: number;
  sent_until: Date;
  sent_ids: string[];
  behind_since: Date | null;
  workspace_id: string;
  service_id: string | null;
  endpoint: string;
  sealed_headers: Buffer | null;
  created_at: Date;
}

/** How far the logs, metrics or traces of a drain were sent. Absent fields stay unchanged. */
export interface Position {
  /** Service id → id of its last log line that was sent. */
  lines?: ReadonlyMap<string, number>;
  /** Start of the last metrics interval, or end of the last deployment, that was sent. */
  until?: Date;
  ids?: readonly string[];
}

/** How long a claim on a signal lasts unless its process records progress. Each request has a shorter time limit. */
const LEASE = `interval '1 minute'`;

/** Claims due signals, at most one per drain, and none of the drains in `busy`. */
export function takeSignals(db: Db, { most, busy }: { most: number; busy: readonly string[] }): Promise<TakenSignal[]> {
  return rowsOf<TakenSignal>(
    db,
    `with first as (
       select distinct on (drain_id) drain_id, signal, due_at from drain_signals
        where due_at <= now() and not drain_id = any(cast(:busy as uuid[])) order by drain_id, due_at
     ), due as (
       select g.drain_id, g.signal from drain_signals g join first f on f.drain_id = g.drain_id and f.signal = g.signal
        where g.due_at <= now() order by f.due_at limit :most for update of g skip locked
     ), taken as (
       update drain_signals g set takes = g.takes + 1, due_at = now() + ${LEASE}
         from due where g.drain_id = due.drain_id and g.signal = due.signal returning g.*
     )
     select t.drain_id, t.signal, t.takes, t.tries, t.sent_until, t.sent_ids, t.behind_since,
            d.workspace_id, d.service_id, d.endpoint, d.sealed_headers, d.created_at
       from taken t join drains d on d.id = t.drain_id`,
    { most, busy: [...busy] },
  );
}

/** Records that nothing is left to send. The signal becomes due again after `dueInMs`. */
export async function recordIdle(db: Db, taken: TakenSignal, dueInMs: number): Promise<void> {
  await update(db, taken, "behind_since = null, due_at = now() + cast(:dueInMs as float8) * interval '1 millisecond'", {
    dueInMs,
  });
}

/** Records a failed request. The same batch is sent again after `waitMs`. */
export async function recordFailure(
  db: Db,
  taken: TakenSignal,
  failure: { error: string; waitMs: number; behindSince: Date },
): Promise<void> {
  await update(
    db,
    taken,
    `tries = tries + 1, error = :error, lost_at = null, behind_since = :behindSince,
     due_at = now() + cast(:waitMs as float8) * interval '1 millisecond'`,
    { ...failure },
  );
}

export interface Progress {
  position: Position;
  /** True if the collector has stored at least a part of the batch. */
  sent: boolean;
  /** What was lost, or a warning; it is displayed for an hour. */
  error: string;
  dropped: number;
  behindSince: Date | null;
  /** Milliseconds until the next request is due; null if this process sends it now, while its claim lasts. */
  dueInMs: number | null;
}

/** Records that a batch needs no further request. Returns false if the claim was lost or the drain deleted. */
export async function recordProgress(db: Db, taken: TakenSignal, progress: Progress): Promise<boolean> {
  const { position, sent, error, dropped, behindSince, dueInMs } = progress;
  const { lines = new Map<string, number>(), until = taken.sent_until, ids = [] } = position;
  return db.transaction(async (trx) => {
    const moved = await update(
      trx,
      taken,
      `tries = 0, error = case when :error = '' and lost_at > now() - interval '1 hour' then error else :error end,
       lost_at = case when :error = '' then lost_at else now() end, dropped = dropped + :dropped, behind_since = :behindSince, sent_until = :until,
       sent_at = case when :sent then now() else sent_at end,
       sent_ids = coalesce((select array_agg(id) from deployments where id = any(sent_ids || cast(:ids as uuid[]))
                               and finished_at > cast(:until as timestamptz) - ${OVERLAP}), '{}'),
       due_at = now() + coalesce(cast(:dueInMs as float8) * interval '1 millisecond', ${LEASE})`,
      { error, dropped, behindSince, until, sent, ids: [...ids], dueInMs },
    );
    if (!moved) return false;
    await trx.raw(
      `insert into drain_lines (drain_id, service_id, last_id)
       select :drain, service_id, last_id from unnest(cast(:services as uuid[]), cast(:last as bigint[])) as t (service_id, last_id)
         -- A service may be erased meanwhile.
        where exists (select from services s where s.id = t.service_id)
       on conflict (drain_id, service_id) do update set last_id = excluded.last_id, sent_at = now()`,
      { drain: taken.drain_id, services: [...lines.keys()], last: [...lines.values()] },
    );
    return true;
  });
}

/**
 * SQL interval. Each search for ended deployments also covers this time before the end of the last deployment that was
 * sent. The end of a deployment in this time may have been committed to PostgreSQL only after the previous search.
 */
export const OVERLAP = `interval '2 minutes'`;

async function update(
  db: Db,
  { drain_id, signal, takes }: TakenSignal,
  set: string,
  bindings: Parameters<typeof rowsOf>[2] & object,
): Promise<boolean> {
  const sql = `update drain_signals set ${set} where drain_id = :drain and signal = :signal and takes = :takes`;
  return (await rowCountOf(db, sql, { ...bindings, drain: drain_id, signal, takes })) > 0;
}
