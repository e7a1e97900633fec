import { type Db, theRow } from '../core/database/database-client.js';
import { prepare, rowsOfBatch } from '../core/database/prepared.js';
import { ONLINE_SECONDS } from '../workers/store.js';

/** The first round takes this many more workspaces than free slots. Some may have no deployment that can start. */
const SPARE_WORKSPACES = 4;
const MAX_WORKSPACES = 128;
const MAX_ROUNDS = 8;
/** Deployments can become unblocked without a change of their own, for example when a database is resumed. */
const RECHECK_SECONDS = 5;
const MAX_RECHECKS = 32;
/** After this time any process may enqueue a deployment's first job. The admitting process may have crashed. */
const HANDOVER_SECONDS = 2;

/**
 * Admits waiting deployments and returns their ids, for which the caller must enqueue jobs.
 * Admits at most one deployment per service, `buildConcurrency` per workspace, and in total as many as the online
 * workers have free slots. Workspaces take turns: next is the workspace with the fewest running deployments, and among
 * equals the workspace whose last turn is longest ago. Each round is a transaction, and concurrent calls are safe.
 * Each workspace with waiting deployments has a row in `admission_lines`, which a trigger updates. A round reads only
 * the first of these rows, so its time does not grow with the number of waiting deployments. Subqueries read the data
 * of each workspace, because the planner could turn a join into a scan of whole tables.
 */
export async function admitDeployments(db: Db): Promise<string[]> {
  const admitted: string[] = [];
  for (let look = 0; look < MAX_ROUNDS; look++) {
    const [, [lines], [outcome]] = await rowsOfBatch(db, [LOCK, look === 0 ? FIRST_TURNS : FURTHER_TURNS, ADMIT]);
    admitted.push(...(outcome?.admitted ?? []));
    if (!lines || !outcome || outcome.free <= 0 || lines.taken === 0 || lines.taken < lines.wanted) break;
  }
  return admitted;
}

const LOCK = prepare<unknown>(`select pg_advisory_xact_lock(hashtextextended('ranvier.admission', 0))`);

/** The states in which a deployment waits without using a slot. */
const PARKED = `'prepared', 'canary'`;

/** A deployment whose route has switched needs its slot for only a few more milliseconds, so it does not count. */
const FREE_SLOTS = `(select coalesce(sum(deploy_slots), 0) from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds')
  - (select count(*) from deployments where finished_at is null and admitted_at is not null and status not in (${PARKED}, 'switched'))`;

/** A setting of one transaction, through which `turns` passes the chosen workspaces to `ADMIT`. */
const LINES = 'ranvier.admission_lines';

/**
 * Returns a statement that locks one workspace per free slot, and `beyond` more, until the round ends. It also locks
 * workspaces that have been blocked for `RECHECK_SECONDS`. It skips rows that another transaction is changing. After
 * that transaction commits, another round follows.
 */
function turns(beyond: number) {
  return prepare<{ taken: number; wanted: number }>(
    `with free as materialized (select ${FREE_SLOTS} as slots), look as (
       select least(slots + ${beyond}, ${MAX_WORKSPACES}) as wanted from free
     ), turns as (
       select l.workspace_id from admission_lines l
        where l.ready and (select slots from free) > 0
        order by l.active, l.last_turn nulls first limit (select wanted from look) for update skip locked
     ), again as (
       select l.workspace_id from admission_lines l
        where not l.ready and l.blocked_at < now() - interval '${RECHECK_SECONDS} seconds' and (select slots from free) > 0
        order by l.blocked_at limit ${MAX_RECHECKS} for update skip locked
     ), taken as materialized (
       select array(select workspace_id from turns union all select workspace_id from again) as ids
     )
     select cardinality(ids) as taken, wanted, set_config('${LINES}', cast(ids as text), true) from taken, look`,
  );
}

const FIRST_TURNS = turns(SPARE_WORKSPACES);
const FURTHER_TURNS = turns(MAX_WORKSPACES);

const ADMIT = prepare<{ admitted: string[]; free: number }>(
  `with lines as materialized (
     select chosen.id as workspace_id,
            (select l.last_turn from admission_lines l where l.workspace_id = chosen.id) as last_turn,
            (select coalesce((w.configuration ->> 'buildConcurrency')::int, 1) from workspaces w where w.id = chosen.id) as most,
            array(select a.service_id from deployments a
                   where a.workspace_id = chosen.id and a.finished_at is null and a.admitted_at is not null) as services,
            (select count(*) from deployments a
              where a.workspace_id = chosen.id and a.finished_at is null and a.admitted_at is not null
                and a.status not in (${PARKED})) as busy
       from unnest(cast(current_setting('${LINES}') as uuid[])) as chosen(id)
   ), free as materialized (select ${FREE_SLOTS} as slots), heads as (
     select l.workspace_id, l.last_turn, l.most, head.id, head.number,
            l.busy + row_number() over (partition by l.workspace_id order by head.number) as position
       from lines l cross join lateral (
         select distinct on (d.service_id) d.id, d.number
           from deployments d
          where d.workspace_id = l.workspace_id and d.finished_at is null and d.admitted_at is null
            and d.cancel_requested_at is null and d.service_id <> all (l.services)
            and not coalesce((select true from (${missingDatabases('d')}) m limit 1), false)
          order by d.service_id, d.number
       ) head
      where l.busy < l.most
   ), allowed as (
     select id, workspace_id, row_number() over (order by position, last_turn nulls first, number) as turn
       from heads where position <= most
   ), locked as (
     -- A deployment that is being cancelled is locked by the cancellation, and skipped.
     select d.id from deployments d
      where d.id in (select id from allowed where turn <= (select slots from free)) and d.finished_at is null
        for update skip locked
   ), admitted as (
     update deployments d
        set admitted_at = now(), dispatches = 1, due_at = now() + interval '${HANDOVER_SECONDS} seconds', blocked_reason = '', updated_at = now()
       from locked where d.id = locked.id
     returning d.id
   ), blocked as (
     update admission_lines l
        set ready = false,
            blocked_at = case when exists (select from deployments d where d.workspace_id = l.workspace_id
                                              and d.finished_at is null and d.admitted_at is null) then now() end
      where l.workspace_id = any(array(select c.workspace_id from lines c
                                        where not exists (select from allowed a where a.workspace_id = c.workspace_id)))
   )
   select array(select a.id from admitted join allowed a on a.id = admitted.id order by a.turn) as admitted,
          (select slots from free) - (select count(*) from admitted) as free`,
);

function lastRestore(column: 'status' | 'error'): string {
  return `select r.${column} from operations r where r.service_id = s.id and r.kind = 'restore' order by r.created_at desc limit 1`;
}

/** Returns SQL for the databases that a deployment's variables refer to and that do not run yet. */
function missingDatabases(deployment: string): string {
  return `select s.name,
            case when s.deleted_at is not null then 'it was deleted'
                 when s.lifecycle_status = 'suspended' then 'it is suspended; resume it'
                 when exists (select from deployments o where o.service_id = s.id and o.finished_at is null)
                   then 'it is being deployed'
                 when s.live_deployment_id is null then 'it does not run; deploy it'
                 else coalesce('its data was not restored: ' || nullif((${lastRestore('error')}), ''), 'it is being restored from a backup')
            end as what
       from jsonb_each((select n.data_references from snapshots n where n.id = ${deployment}.snapshot_id)) as reference
       join services s on s.id = (reference.value ->> 'serviceId')::uuid
      where s.live_deployment_id is null or s.lifecycle_status <> 'active'
         or (exists (select from preview_databases p where p.service_id = s.id) and (${lastRestore('status')}) <> 'succeeded')`;
}

const UNEXPLAINED = 50;
const EXPLAINED_AGAIN = 100;

/**
 * Records why deployments wait. Each call adds a reason to deployments that have none. It also updates the reasons of
 * the next deployments with numbers above `after`, because reasons become outdated when other deployments change.
 * Returns the `after` of the next call.
 */
export async function recordWaitingReasons(db: Db, after = 0): Promise<number> {
  const { explained, last } = await theRow<{ explained: number; last: number }>(
    db,
    `with again as (
       select id, number from deployments
        where finished_at is null and admitted_at is null and number > cast(:after as bigint) order by number limit ${EXPLAINED_AGAIN}
     ), chosen as (
       select id from again union
       (select id from deployments where finished_at is null and admitted_at is null and blocked_reason = ''
         order by number limit ${UNEXPLAINED})
     ), waiting as materialized (
       select d.id, d.blocked_reason,
              (select coalesce((w.configuration ->> 'buildConcurrency')::int, 1) from workspaces w where w.id = d.workspace_id) as most,
              (select o.id from deployments o where o.service_id = d.service_id and o.finished_at is null and o.number < d.number
                order by o.number desc limit 1) as ahead,
              (select count(*) from deployments o
                where o.workspace_id = d.workspace_id and o.finished_at is null and o.admitted_at is not null
                  and o.status not in (${PARKED})) as busy,
              (select 'Waits for the database "' || m.name || '" that its variables refer to: ' || m.what
                 from (${missingDatabases('d')}) m order by m.name limit 1) as missing
         from chosen join deployments d on d.id = chosen.id
     ), reasons as materialized (
       select o.id, o.blocked_reason,
              case
                when not exists (select 1 from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds')
                  then 'No worker is online'
                when o.missing is not null then o.missing
                when o.ahead is not null then 'Waits for deployment ' || o.ahead || ' of this service'
                when o.busy >= o.most
                  then 'The workspace runs as many deployments as its buildConcurrency allows (' || o.most || '); this one starts when one ends'
                else 'All deployment slots of the workers are taken'
              end as reason
         from waiting o
     ), news as materialized (
       -- A deployment that was admitted or has ended meanwhile needs no reason.
       select d.id, r.reason from reasons r join deployments d on d.id = r.id
        where reason <> d.blocked_reason and d.finished_at is null and d.admitted_at is null for update of d skip locked
     ), recorded as (
       update deployments d set blocked_reason = n.reason, updated_at = now() from news n where d.id = n.id
     )
     select count(*) as explained, coalesce(max(number), 0) as last from again`,
    { after },
  );
  return explained < EXPLAINED_AGAIN ? 0 : last;
}

/** Records that admitted deployments wait because the queue engine is unreachable. A claim clears the reason. */
export async function recordEngineUnreachable(db: Db): Promise<void> {
  await db.raw(
    `update deployments set blocked_reason = 'The queue engine cannot be reached', updated_at = now()
      where finished_at is null and admitted_at is not null and fence = 0 and blocked_reason = ''`,
  );
}
