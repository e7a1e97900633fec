import { type Db, rowsOf } from '../core/database/client.js';
import { CHANNELS } from '../core/database/listener.js';
import { type Prepared, prepare, rowOfPrepared } from '../core/database/prepared.js';
import { type Lease, UNHELD } from '../engine/leases.js';
import { imageStoredBy, imageValues } from '../images/store.js';
import { EDGES } from '../routing/store.js';
import {
  type ActiveState,
  canBeCancelled,
  type DeploymentEvent,
  type DeploymentState,
  isTerminal,
  nextState,
  STEP_OF,
} from './model.js';
import { type LeftBehind, leftBehindSql } from './release-store.js';
import type { DeploymentRow } from './rows.js';

/** The columns of a deployment that a transition may change. */
const CHANGED = [
  'id',
  'status',
  'error',
  'commit_sha',
  'commit_message',
  'image_id',
  'steps',
  'cancel_requested_at',
  'went_live_at',
  'fence',
  'worker_id',
  'lease_expires_at',
  'takeovers',
  'worker_faults',
  'due_at',
  'finished_at',
  'updated_at',
] as const satisfies readonly (keyof DeploymentRow)[];

/** What the worker that made a transition needs to know next. Each is null if the transition does not tell. */
export interface NextFacts {
  /** How many edges there are, when the route has moved. All of them have yet to learn it. */
  edges: number | null;
  /** What earlier releases have left, when the deployment is live. */
  left_behind: LeftBehind | null;
}

/** The columns that a transition may have changed, with their values after it. */
export type MovedDeployment = Pick<DeploymentRow, (typeof CHANGED)[number]> & NextFacts;

/**
 * Applies an event of the state machine and writes what belongs to it, in one statement.
 *
 * Returns the deployment as it is afterwards. Returns undefined, and changes nothing, if the lease is lost, if the
 * deployment is in another state, or if a requested cancellation must be carried out first. `failed` becomes
 * `cancelled` if a cancellation was requested. Throws if the event cannot happen in the state.
 */
export async function applyEvent(
  db: Db,
  { id, fence }: Lease,
  from: ActiveState,
  event: DeploymentEvent,
): Promise<MovedDeployment | undefined> {
  const to = nextState(from, event.type, false);
  if (to === undefined) throw new Error(`a deployment that is ${from} cannot be ${event.type}`);
  const image = event.type === 'built' ? event.image : null;
  const variant: Variant = {
    from,
    to,
    toIfCancelled: nextState(from, event.type, true) ?? to,
    stores: image !== null,
  };
  const resolved = event.type === 'resolved' ? event : null;
  const values = isTerminal(to)
    ? [event.type === 'failed' ? event.error : '']
    : [resolved?.commitSha ?? null, resolved?.commitMessage ?? null];
  const row = await rowOfPrepared(db, transition(variant), [
    id,
    fence,
    ...values,
    ...(image === null ? [] : imageValues(image)),
  ]);
  if (to === 'switched' && row === null) await assertNotDeleted(db, id);
  return row ?? undefined;
}

interface Variant {
  from: ActiveState;
  to: DeploymentState;
  toIfCancelled: DeploymentState;
  /** True if the event stores an image. */
  stores: boolean;
}

const prepared = new Map<string, Prepared<MovedDeployment>>();

/** Returns the statement of a transition. There are about fifteen; each connection prepares those that it uses once. */
function transition(variant: Variant): Prepared<MovedDeployment> {
  const key = Object.values(variant).join();
  const known = prepared.get(key) ?? prepare<MovedDeployment>(sqlOf(variant));
  prepared.set(key, known);
  return known;
}

/** SQL: `$1` is the id, `$2` the fence; then follow the error, or commit and message, and the image's values. */
function sqlOf({ from, to, toIfCancelled, stores }: Variant): string {
  const ends = isTerminal(to);
  const switches = to === 'switched';
  const columns = (of: string) => CHANGED.map((name) => `${of}.${name}`).join(', ');
  return `with ${switches ? `${LOCKED}, ` : ''}moved as (
       update deployments d
          set ${ends ? end(to, toIfCancelled) : step(from, to)}, takeovers = 0, worker_faults = 0, updated_at = now()
              ${stores ? ', image_id = cast($5 as uuid)' : ''} ${switches ? ', went_live_at = now()' : ''}
        where id = $1 and fence = $2 and status = '${from}' and finished_at is null
          ${!ends && canBeCancelled(from) ? 'and cancel_requested_at is null' : ''}
          ${switches ? 'and service_id = (select id from locked)' : ''}
        returning ${columns('d')}, d.workspace_id, d.service_id
     )
     ${ends ? `, noted as (${notificationsForEnded('moved')})` : ''}
     ${stores ? `, stored as (${imageStoredBy('moved', 5)})` : ''}
     ${switches ? `, ${ROUTED}` : ''}
     select ${columns('moved')}, ${switches ? `(${EDGES})` : 'null::bigint'} as edges,
            ${to === 'live' ? `(${leftBehindSql('moved.service_id')})` : 'null::jsonb'} as left_behind
       from moved ${switches ? 'cross join routed' : ''}`;
}

/** SQL: locks the service before the deployment. Commands lock in the same order, so that they cannot deadlock. */
const LOCKED = `locked as materialized (
  select id from services
   where id = (select service_id from deployments where id = $1) and lifecycle_status not in ('deleting', 'deleted')
     for update)`;

/** SQL: makes the deployment the service's live release, and notifies the edges. */
const ROUTED = `switched as (
  update services s
     set live_deployment_id = moved.id, lifecycle_status = 'active', health_status = 'ready', health_checked_at = now(),
         route_version = nextval('route_versions'), updated_at = now()
    from moved where s.id = moved.service_id returning s.id
), routed as (select pg_notify('${CHANNELS.route}', cast(id as text)) from switched)`;

async function assertNotDeleted(db: Db, deploymentId: string): Promise<void> {
  const [service] = await rowsOf<{ id: string }>(
    db,
    `select s.id from services s join deployments d on d.service_id = s.id
      where d.id = ? and s.lifecycle_status in ('deleting', 'deleted')`,
    [deploymentId],
  );
  if (service) throw new Error(`service ${service.id} is being deleted`);
}

/** SQL: ends a deployment. Its error is `$3`. */
function end(to: DeploymentState, toIfCancelled: DeploymentState): string {
  const error =
    toIfCancelled === 'cancelled' ? `case when cancel_requested_at is null then $3 else '' end` : 'cast($3 as text)';
  return `status = case when cancel_requested_at is null then '${to}' else '${toIfCancelled}' end, error = ${error},
  finished_at = now(), blocked_reason = '', steps = ${endedSteps()}, ${UNHELD.replace(', updated_at = now()', '')}`;
}

/** SQL: changes the state of a deployment that goes on. `$3` and `$4` are the commit and its message, if the step found them. */
function step(from: ActiveState, to: ActiveState): string {
  const begin = beginsStep(from, to);
  const begun = `jsonb_build_array(jsonb_build_object('name', '${begin}', 'startedAt', ${isoNow()}, 'finishedAt', null))`;
  return `status = '${to}', commit_sha = coalesce($3, commit_sha), commit_message = coalesce($4, commit_message)
    ${begin === null ? '' : `, steps = ${endedSteps()} || ${begun}`}`;
}

/** Returns the step that begins with a change of state; null if the step does not change. */
function beginsStep(from: ActiveState, to: ActiveState): string | null {
  return STEP_OF[from] === STEP_OF[to] ? null : STEP_OF[to];
}

/** SQL: records the deployments of `query` that have ended, in the statement that ends them, for the notifications. */
export function notificationsForEnded(query: string): string {
  return `insert into notifications (deployment_id) select id from ${query} where finished_at is not null on conflict do nothing`;
}

/** SQL: the steps with the running one ended now. */
export function endedSteps(): string {
  return `(select coalesce(jsonb_agg(case when step ->> 'finishedAt' is null
             then jsonb_set(step, '{finishedAt}', to_jsonb(${isoNow()})) else step end order by position), '[]'::jsonb)
             from jsonb_array_elements(steps) with ordinality as s(step, position))`;
}

function isoNow(): string {
  return `to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
