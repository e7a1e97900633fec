import type { ServiceConfiguration } from '../domain/configuration.js';
import {
  type DeploymentStatus,
  type DeploymentTrigger,
  type StepName,
  type StepRecord,
  sourcesOf,
  type TerminalStatus,
} from '../domain/deployment.js';
import { type Db, rowsOf, type Transaction } from './client.js';
import { CHANNELS } from './listener.js';
import type { DeploymentRow } from './rows.js';

/** A worker's hold on a deployment: every write names the fence, and changes nothing once another worker has claimed it. */
export interface Claim {
  id: string;
  fence: number;
}

export interface NewDeployment {
  id: string;
  workspaceId: string;
  serviceId: string;
  trigger: DeploymentTrigger;
  actor: string;
  branch: string;
  commitSha: string;
  commitMessage: string;
  clearCache: boolean;
  sourceDeploymentId: string | null;
  configuration: ServiceConfiguration;
  sealedVariables: Buffer;
  sealedRepository: Buffer | null;
  imageId: string | null;
  idempotency: { scope: string; key: string } | null;
}

/** Stores a queued deployment, its first step begun. */
export async function insertDeployment(trx: Transaction, input: NewDeployment): Promise<DeploymentRow> {
  const now = new Date();
  const steps: StepRecord[] = [{ name: 'queued', startedAt: now.toISOString(), finishedAt: null }];
  const [row] = await trx<DeploymentRow>('deployments')
    .insert({
      id: input.id,
      workspace_id: input.workspaceId,
      service_id: input.serviceId,
      trigger: input.trigger,
      actor: input.actor,
      branch: input.branch,
      commit_sha: input.commitSha,
      commit_message: input.commitMessage,
      clear_cache: input.clearCache,
      source_deployment_id: input.sourceDeploymentId,
      configuration: input.configuration,
      sealed_variables: input.sealedVariables,
      sealed_repository: input.sealedRepository,
      image_id: input.imageId,
      steps: JSON.stringify(steps) as unknown as StepRecord[],
      idempotency_scope: input.idempotency?.scope ?? null,
      idempotency_key: input.idempotency?.key ?? null,
      created_at: now,
      updated_at: now,
    })
    .returning('*');
  if (!row) throw new Error('the deployment was not stored');
  return row;
}

export async function getDeployment(db: Db, id: string): Promise<DeploymentRow | undefined> {
  return db<DeploymentRow>('deployments').where({ id }).first();
}

/** The deployment that was made with this key in this scope; it keeps the key for good. */
export async function findKeyHolder(
  db: Db,
  { scope, key }: { scope: string; key: string },
): Promise<{ id: string } | undefined> {
  return db<DeploymentRow>('deployments').where({ idempotency_scope: scope, idempotency_key: key }).first('id');
}

/**
 * Takes a deployment over: raises its fence, so that whoever held it before can change nothing any more, and counts where
 * that one had not given it back. Undefined where it has ended or may not run yet.
 */
export async function claimDeployment(
  db: Db,
  id: string,
  workerId: string,
  leaseSeconds: number,
): Promise<DeploymentRow | undefined> {
  const [row] = await rowsOf<DeploymentRow>(
    db,
    `update deployments
        set fence = fence + 1, worker_id = :workerId, blocked_reason = '',
            takeovers = takeovers + case when worker_id is null then 0 else 1 end,
            lease_expires_at = now() + :leaseSeconds * interval '1 second',
            started_at = coalesce(started_at, now()), updated_at = now()
      where id = :id and status in ('queued', 'building', 'releasing') and admitted_at is not null
      returning *`,
    { id, workerId, leaseSeconds },
  );
  return row;
}

/** Keeps the hold. Undefined where it is lost; otherwise says whether the cancellation was requested meanwhile. */
export async function renewClaim(
  db: Db,
  { id, fence }: Claim,
  leaseSeconds: number,
): Promise<{ cancelRequested: boolean } | undefined> {
  const [row] = await rowsOf<{ cancelRequested: boolean }>(
    db,
    `update deployments set lease_expires_at = now() + :leaseSeconds * interval '1 second'
      where id = :id and fence = :fence and status in ('queued', 'building', 'releasing')
      returning cancel_requested_at is not null as "cancelRequested"`,
    { id, fence, leaseSeconds },
  );
  return row;
}

/** Gives a deployment back unfinished (shutdown): the next worker may take it at once. */
export async function releaseClaim(db: Db, { id, fence }: Claim): Promise<void> {
  await db.raw('update deployments set worker_id = null, lease_expires_at = null where id = :id and fence = :fence', {
    id,
    fence,
  });
}

export interface StepChange {
  to: Exclude<DeploymentStatus, TerminalStatus>;
  begin: StepName;
  commitSha?: string;
  commitMessage?: string;
  imageId?: string;
}

/** Ends the running step and begins the next. False where the claim is lost or the deployment has ended. */
export async function advanceDeployment(db: Db, { id, fence }: Claim, change: StepChange): Promise<boolean> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `update deployments
        set status = :to, steps = ${endedSteps()} || ${newStep()},
            commit_sha = coalesce(:commitSha, commit_sha), commit_message = coalesce(:commitMessage, commit_message),
            image_id = coalesce(cast(:imageId as uuid), image_id), takeovers = 0, updated_at = now()
      where id = :id and fence = :fence and status = any(:from)
      returning id`,
    {
      id,
      fence,
      to: change.to,
      begin: change.begin,
      commitSha: change.commitSha ?? null,
      commitMessage: change.commitMessage ?? null,
      imageId: change.imageId ?? null,
      from: sourcesOf(change.to),
    },
  );
  return rows.length > 0;
}

/**
 * The one decision between going live and being cancelled: succeeds only while the claim holds and no cancellation was
 * requested; from then on the deployment can neither fail nor be cancelled. Moves the service to the new release in the
 * same transaction and rings the edge. Returns the route version that edges must reach, or undefined.
 */
export async function switchRoute(trx: Transaction, { id, fence }: Claim): Promise<number | undefined> {
  // Commands lock the service before its deployments; taking them in the same order cannot deadlock.
  await trx.raw('select 1 from services where id = (select service_id from deployments where id = :id) for update', {
    id,
  });
  const [won] = await rowsOf<{ service_id: string }>(
    trx,
    `update deployments set went_live_at = now(), updated_at = now()
      where id = :id and fence = :fence and status = any(:from) and cancel_requested_at is null and went_live_at is null
      returning service_id`,
    { id, fence, from: sourcesOf('live') },
  );
  if (!won) return undefined;
  const [service] = await rowsOf<{ route_version: number }>(
    trx,
    `update services
        set live_deployment_id = :id, lifecycle_status = 'active', health_status = 'ready', health_checked_at = now(),
            route_version = nextval('route_versions'), updated_at = now()
      where id = :serviceId and lifecycle_status not in ('deleting', 'deleted')
      returning route_version`,
    { id, serviceId: won.service_id },
  );
  if (!service) throw new Error(`service ${won.service_id} is being deleted`);
  await trx.raw('select pg_notify(?, ?)', [CHANNELS.route, won.service_id]);
  return service.route_version;
}

/** Ends a deployment whose route has moved. False where the claim is lost. */
export async function finishLive(db: Db, { id, fence }: Claim): Promise<boolean> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `with ended as (
       update deployments
          set status = 'live', finished_at = now(), updated_at = now(), error = '', blocked_reason = '',
              worker_id = null, lease_expires_at = null, steps = ${endedSteps()}
        where id = :id and fence = :fence and status = any(:from) and went_live_at is not null
        returning id, service_id
     ), noted as (${notedEnds()})
     select id from ended`,
    { id, fence, from: sourcesOf('live') },
  );
  return rows.length > 0;
}

/** Ends a deployment that did not go live. `cancelled` wins over `failed` where both apply. Undefined: not ours any more. */
export async function endDeployment(
  db: Db,
  { id, fence }: Claim,
  status: 'failed' | 'cancelled',
  error: string,
): Promise<DeploymentStatus | undefined> {
  const [row] = await rowsOf<{ status: DeploymentStatus }>(
    db,
    `with ended as (
       update deployments
          set status = case when cancel_requested_at is not null then 'cancelled' else :status end,
              error = case when cancel_requested_at is not null then '' else :error end,
              finished_at = now(), updated_at = now(), blocked_reason = '', worker_id = null, lease_expires_at = null,
              steps = ${endedSteps()}
        where id = :id and fence = :fence and status = any(:from) and went_live_at is null
        returning id, status
     ), noted as (${notedEnds()})
     select status from ended`,
    { id, fence, status, error, from: sourcesOf(status) },
  );
  return row?.status;
}

/**
 * Requests the cancellation of open deployments that match and rings their workers. Those that no worker has ever held
 * end here and now. Returns how many were open.
 */
export async function cancelOpenDeployments(
  trx: Transaction,
  where: { serviceId: string; deploymentId?: string },
): Promise<number> {
  const rows = await rowsOf<{ id: string }>(
    trx,
    `with asked as (
       update deployments
          set cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now(),
              status = case when fence = 0 then 'cancelled' else status end,
              finished_at = case when fence = 0 then now() else finished_at end,
              blocked_reason = '',
              steps = case when fence = 0 then ${endedSteps()} else steps end
        where service_id = :serviceId and (cast(:deploymentId as uuid) is null or id = cast(:deploymentId as uuid))
          and status in ('queued', 'building', 'releasing') and went_live_at is null
        returning id, status
     ), ended as (select id from asked where status = 'cancelled'),
     noted as (${notedEnds()})
     select id from asked`,
    { serviceId: where.serviceId, deploymentId: where.deploymentId ?? null },
  );
  for (const { id } of rows) await trx.raw('select pg_notify(?, ?)', [CHANNELS.cancel, id]);
  return rows.length;
}

/** True while a deployment of the service has not ended. */
export async function hasOpenDeployment(db: Db, serviceId: string): Promise<boolean> {
  const row = await db('deployments')
    .where({ service_id: serviceId })
    .whereIn('status', ['queued', 'building', 'releasing'])
    .first('id');
  return row !== undefined;
}

/** SQL: notes, in the statement that ends them, the deployments of `ended` for whoever wants to be told of it. */
function notedEnds(): string {
  return 'insert into notifications (deployment_id) select id from ended on conflict do nothing';
}

/** SQL: the steps with the running one ended now. */
function endedSteps(): string {
  return `(select coalesce(jsonb_agg(case when step ->> 'finishedAt' is null
             then jsonb_set(step, '{finishedAt}', to_jsonb(${isoNow()})) else step end order by position), '[]'::jsonb)
             from jsonb_array_elements(steps) with ordinality as s(step, position))`;
}

/** SQL: one begun step named by the binding `begin`. */
function newStep(): string {
  return `jsonb_build_array(jsonb_build_object('name', cast(:begin as text), 'startedAt', ${isoNow()}, 'finishedAt', null))`;
}

function isoNow(): string {
  return `to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24\\:MI\\:SS.MS"Z"')`;
}
