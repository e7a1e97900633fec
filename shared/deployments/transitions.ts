import { type Db, rowsOf, type Transaction } from '../core/database/client.js';
import { type Lease, UNHELD } from '../core/database/leases.js';
import { CHANNELS } from '../core/database/listener.js';
import { insertImage } from '../images/store.js';
import { type ActiveState, canBeCancelled, type DeploymentEvent, isTerminal, nextState, STEP_OF } from './model.js';
import type { DeploymentRow } from './rows.js';

/**
 * Applies an event of the state machine in one conditional update, and writes what belongs to it in the same transaction.
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
  return db.transaction(async (trx) => {
    // Commands lock the service before its deployments; the same order here cannot deadlock.
    if (event.type === 'routeSwitched') await lockServiceOf(trx, id);
    const ends = isTerminal(to);
    const waitsForCancel = !ends && canBeCancelled(from);
    const [row] = await rowsOf<DeploymentRow>(
      trx,
      `with moved as (
         update deployments
            set ${ends ? END : STEP}, takeovers = 0, worker_faults = 0, updated_at = now(),
                commit_sha = coalesce(:commitSha, commit_sha), commit_message = coalesce(:commitMessage, commit_message),
                went_live_at = case when :to = 'switched' then now() else went_live_at end
          where id = :id and fence = :fence and status = :from and finished_at is null
            ${waitsForCancel ? 'and cancel_requested_at is null' : ''}
          returning *
       ), noted as (${notificationsForEnded('moved')})
       select * from moved`,
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
      },
    );
    return row && (await applyEffects(trx, row, event));
  });
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

async function applyEffects(trx: Transaction, row: DeploymentRow, event: DeploymentEvent): Promise<DeploymentRow> {
  if (event.type === 'built' && event.image !== null) {
    const { workspace_id: workspaceId, service_id: serviceId } = row;
    const image = await insertImage(trx, { workspaceId, serviceId, ...event.image });
    await trx<DeploymentRow>('deployments').where({ id: row.id }).update({ image_id: image.id });
    return { ...row, image_id: image.id };
  }
  if (event.type === 'routeSwitched') await moveRoute(trx, row);
  return row;
}

async function lockServiceOf(trx: Transaction, deploymentId: string): Promise<void> {
  await trx.raw('select 1 from services where id = (select service_id from deployments where id = ?) for update', [
    deploymentId,
  ]);
}

/** The service's release is this deployment from now on; the edges are notified. */
async function moveRoute(trx: Transaction, { id, service_id: serviceId }: DeploymentRow): Promise<void> {
  const moved = await rowsOf<{ id: string }>(
    trx,
    `update services
        set live_deployment_id = :id, lifecycle_status = 'active', health_status = 'ready', health_checked_at = now(),
            route_version = nextval('route_versions'), updated_at = now()
      where id = :serviceId and lifecycle_status not in ('deleting', 'deleted')
      returning id`,
    { id, serviceId },
  );
  if (moved.length === 0) throw new Error(`service ${serviceId} is being deleted`);
  await trx.raw('select pg_notify(?, ?)', [CHANNELS.route, serviceId]);
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
