import { type Db, lockUntilCommit, rowsOf, type Transaction } from '../core/database/client.js';

/** A worker counts as online for 15 s after its last heartbeat. */
export const ONLINE_SECONDS = 15;

/**
 * Lets deployments run: the oldest of each service that has none running, as many for each
 * workspace as its buildConcurrency, and in all as many as the online workers have slots. The workspaces take turns: next
 * is the one whose last turn is longest ago, however many older deployments another has.
 * Atomic under any number of callers. The first job of each is due at once. Returns how many were admitted.
 */
export async function admitDeployments(trx: Transaction): Promise<number> {
  await lockUntilCommit(trx, 'ranvier.admission');
  const rows = await rowsOf<{ id: string }>(
    trx,
    `with active as (
       select workspace_id, service_id from deployments where finished_at is null and admitted_at is not null
     ), slots as (
       select coalesce(sum(deploy_slots), 0) - (select count(*) from active) as free
         from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds'
     ), heads as (
       select distinct on (d.service_id) d.id, d.number, d.workspace_id
         from deployments d
        where d.finished_at is null and d.admitted_at is null and d.cancel_requested_at is null
          and not exists (${missingDatabases('d')})
          and not exists (select 1 from active a where a.service_id = d.service_id)
        order by d.service_id, d.number
     ), ranked as (
       select h.*,
              row_number() over (partition by h.workspace_id order by h.number)
                + (select count(*) from active a where a.workspace_id = h.workspace_id) as position
         from heads h
     ), turns as (
       select waiting.workspace_id,
              (select max(d.admitted_at) from deployments d
                where d.workspace_id = waiting.workspace_id and d.admitted_at is not null) as last_turn
         from (select distinct workspace_id from heads) waiting
     ), allowed as (
       select r.id, row_number() over (order by r.position, t.last_turn nulls first, r.number) as turn
         from ranked r join workspaces w on w.id = r.workspace_id join turns t on t.workspace_id = r.workspace_id
        where r.position <= coalesce((w.configuration ->> 'buildConcurrency')::int, 1)
     )
     update deployments d
        set admitted_at = now(), dispatches = 1, due_at = now(), blocked_reason = '', updated_at = now()
       from allowed a
      where d.id = a.id and a.turn <= (select free from slots)
     returning d.id`,
  );
  return rows.length;
}

/** SQL: the databases that the variables of a deployment refer to and that do not run, with what they wait for. */
function missingDatabases(deployment: string): string {
  return `select s.name,
            case when s.deleted_at is not null then 'it was deleted'
                 when s.lifecycle_status = 'suspended' then 'it is suspended; resume it'
                 when exists (select from deployments o where o.service_id = s.id and o.finished_at is null)
                   then 'it is being deployed'
                 else 'it does not run; deploy it' end as what
       from snapshots n
       cross join lateral jsonb_each(n.data_references) as reference
       join services s on s.id = (reference.value ->> 'serviceId')::uuid
      where n.id = ${deployment}.snapshot_id
        and (s.live_deployment_id is null or s.lifecycle_status <> 'active')`;
}

/** Records for each waiting deployment what it waits for. */
export async function recordWaitingReasons(trx: Transaction): Promise<void> {
  await trx.raw(
    `with open as (
       select id, workspace_id, admitted_at, blocked_reason,
              lag(id) over (partition by service_id order by number) as ahead,
              count(admitted_at) over (partition by workspace_id) as busy,
              case when admitted_at is null then (
                select 'Waits for the database "' || m.name || '" that its variables refer to: ' || m.what
                  from (${missingDatabases('d')}) m order by m.name limit 1
              ) end as missing
         from deployments d where finished_at is null
     ), reasons as (
       select o.id, o.blocked_reason,
              case
                when not exists (select 1 from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds')
                  then 'No worker is online'
                when o.missing is not null then o.missing
                when o.ahead is not null then 'Waits for deployment ' || o.ahead || ' of this service'
                when o.busy >= coalesce((w.configuration ->> 'buildConcurrency')::int, 1)
                  then 'The workspace runs ' || o.busy || ' deployments, as many as its buildConcurrency allows'
                else 'All deployment slots of the workers are taken'
              end as reason
         from open o join workspaces w on w.id = o.workspace_id
        where o.admitted_at is null
     ), news as materialized (
       select id, reason from reasons where reason <> blocked_reason
     )
     update deployments d set blocked_reason = n.reason, updated_at = now() from news n where d.id = n.id`,
  );
}

/**
 * Records for deployments that are admitted, and not yet claimed, that the queue engine cannot be reached. A claim
 * clears it.
 */
export async function recordEngineUnreachable(db: Db): Promise<void> {
  await db.raw(
    `update deployments set blocked_reason = 'The queue engine cannot be reached', updated_at = now()
      where finished_at is null and admitted_at is not null and fence = 0 and blocked_reason = ''`,
  );
}
