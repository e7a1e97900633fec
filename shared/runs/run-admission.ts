import { lockUntilCommit, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { ONLINE_SECONDS } from '../workers/store.js';

/**
 * Admits queued runs while the online workers have free slots. Workspaces take turns. No workspace gets more than half
 * of the slots, because a run may last a day. Concurrent calls are safe.
 */
export async function admitRuns(trx: Transaction): Promise<number> {
  await lockUntilCommit(trx, 'ranvier.run-admission');
  return rowCountOf(
    trx,
    `with active as (
       select workspace_id, count(*) as runs from runs
        where finished_at is null and admitted_at is not null and trigger <> 'deployment' group by workspace_id
     ), slots as (
       select coalesce(sum(run_slots), 0) as total, coalesce((select sum(runs) from active), 0) as taken
         from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds'
     ), waiting as (
       select id, workspace_id, created_at, row_number() over (partition by workspace_id order by created_at, id) as place
         from runs
        where finished_at is null and admitted_at is null and cancel_requested_at is null and not_before <= now()
     ), ranked as (
       select w.id, w.created_at, w.place + coalesce(a.runs, 0) as position
         from waiting w left join active a on a.workspace_id = w.workspace_id
     ), allowed as (
       select r.id, row_number() over (order by r.position, r.created_at, r.id) as turn
         from ranked r, slots where r.position <= greatest(1, ceil(slots.total / 2.0))
     )
     update runs
        set admitted_at = now(), dispatches = dispatches + 1, due_at = now(), updated_at = now()
       from allowed, slots
      where runs.id = allowed.id and allowed.turn <= slots.total - slots.taken`,
  );
}
