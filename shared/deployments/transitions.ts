import { type Db, rowsOf } from '../core/database/client.js';
import { type Lease, UNHELD } from '../core/database/leases.js';
import { CHANNELS } from '../core/database/listener.js';
import { imageBindings, imageStoredBy } from '../images/store.js';
import { type ActiveState, canBeCancelled, type DeploymentEvent, isTerminal, nextState, STEP_OF } from './model.js';
import type { DeploymentRow } from './rows.js';

/**
 * Applies an event of the state machine and writes what belongs to it, in one statement.
 *
 * Returns the deployment as it is afterwards. Returns undefined, and changes nothing, if the lease is lost, if the
 * deployment is in another state, or if a cancellation was requested that has to be carried out first. `failed` becomes
 * `cancelled` if a cancellation was requested. Throws if the event cannot happen in the state.
 */
export async function applyEvent(
  db: Db,
  { id, fence }: Lease,
  from: ActiveState,
  event: DeploymentEvent,
): Promise<DeploymentRow | undefined> {
  const to = nextState(from, event.type, false);
  if (to === undefined) throw new Error(`a deployment that is ${from} cannot be ${event.type}`);
  const ends = isTerminal(to);
  const switches = event.type === 'routeSwitched';
  const image = event.type === 'built' ? event.image : null;
  const [row] = await rowsOf<DeploymentRow>(
    db,
    `with ${switches ? `${LOCKED}, ` : ''}moved as (
       update deployments
          set ${ends ? END : STEP}, takeovers = 0, worker_faults = 0, updated_at = now(),
              commit_sha = coalesce(:commitSha, commit_sha), commit_message = coalesce(:commitMessage, commit_message),
              image_id = coalesce(cast(:imageId as uuid), image_id),
              went_live_at = case when :to = 'switched' then now() else went_live_at end
        where id = :id and fence = :fence and status = :from and finished_at is null
          ${!ends && canBeCancelled(from) ? 'and cancel_requested_at is null' : ''}
          ${switches ? 'and service_id = (select id from locked)' : ''}
        returning *
     ), noted as (${notificationsForEnded('moved')})
     ${image === null ? '' : `, stored as (${imageStoredBy('moved')})`}
     ${switches ? `, ${ROUTED}` : ''}
     select moved.* from moved ${switches ? 'cross join routed' : ''}`,
    {
      id,
      fence,
      from,
      to,
      begin: ends ? null : beginsStep(from, to),
      toIfCancelled: nextState(from, event.type, true) ?? to,
      error: event.type === 'failed' ? event.error : '',
      commitSha: event.type === 'resolved' ? event.commitSha : null,
      commitMessage: event.type === 'resolved' ? event.commitMessage : null,
      imageId: null,
      ...(image === null ? {} : imageBindings(image)),
    },
  );
  if (switches && row === undefined) await assertNotDeleted(db, id);
  return row;
}

/** SQL: commands lock the service before its deployments; the same order here cannot deadlock. */
const LOCKED = `locked as materialized (
  select id from services
   where id = (select service_id from deployments where id = :id) and lifecycle_status not in ('deleting', 'deleted')
     for update)`;

/** SQL: the service's release is the deployment from now on; the edges are notified. */
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

const END = `status = case when cancel_requested_at is null then :to else :toIfCancelled end,
  error = case when cancel_requested_at is null or :toIfCancelled <> 'cancelled' then :error else '' end,
  finished_at = now(), blocked_reason = '', steps = ${endedSteps()}, ${UNHELD.replace(', updated_at = now()', '')}`;

const STEP = `status = :to, steps = case when cast(:begin as text) is null then steps else ${endedSteps()} ||
  jsonb_build_array(jsonb_build_object('name', cast(:begin as text), 'startedAt', ${isoNow()}, 'finishedAt', null)) end`;

/** The step that begins with a change of state; null if the same step goes on. */
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
  return `to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24\\:MI\\:SS.MS"Z"')`;
}
