import { type Db, oneRow, oneValue, type Transaction, valuesOf } from '../core/database/database-client.js';
import { moveOpen } from '../engine/cancel-requests.js';
import { publishRouteChange } from '../services/publish-route.js';
import { DEPLOYMENTS } from './kind.js';
import { MOVE_ROUTES } from './store.js';

export type SideName = 'new' | 'previous';

export interface CanarySide {
  requests: number;
  errors: number;
  /** One count for each index that `latencyClass` returns. */
  latency: readonly number[];
  ready: number;
}

/** Times are in milliseconds since the epoch. */
export interface Canary {
  deploymentId: string;
  serviceId: string;
  previousId: string;
  percent: number;
  begunAt: number;
  endsAt: number;
  /** Null while the canary is under way. */
  endedAt: number | null;
  promoted: boolean;
  reason: string;
  cancelRequested: boolean;
  isActive: boolean;
  /**
   * When a replica of the new release last changed; `begunAt` if there is none. The canary is withdrawn if no replica
   * becomes ready for some time after this.
   */
  changedAt: number;
  new: CanarySide;
  previous: CanarySide;
  now: number;
}

const ms = (time: string) => `cast(extract(epoch from ${time}) * 1000 as float8)`;

/** Returns SQL that counts the replicas of a release that take requests. */
export function readyCount(deployment: string): string {
  return `(select count(*) from replicas r where r.deployment_id = ${deployment} and r.run_id is null
              and r.desired = 'running' and r.state = 'ready')`;
}

/** Returns SQL for a `CanarySide`. `counts` is the alias of a row of `canary_sides`; the row may be missing. */
function sideSql(counts: string, deployment: string): string {
  return `jsonb_build_object('requests', coalesce(${counts}.requests, 0), 'errors', coalesce(${counts}.errors, 0),
    'latency', coalesce(${counts}.latency, '{}'), 'ready', ${readyCount(deployment)})`;
}

export function readCanary(db: Db, deploymentId: string): Promise<Canary | null> {
  return oneRow<Canary>(
    db,
    `select c.deployment_id as "deploymentId", c.service_id as "serviceId", c.previous_id as "previousId", c.percent,
            ${ms('c.begun_at')} as "begunAt", ${ms('c.ends_at')} as "endsAt", ${ms('c.ended_at')} as "endedAt", c.promoted, c.reason,
            d.cancel_requested_at is not null as "cancelRequested",
            s.lifecycle_status = 'active' and s.deleted_at is null and s.live_deployment_id = c.previous_id as "isActive",
            ${ms('(select coalesce(max(r.updated_at), c.begun_at) from replicas r where r.deployment_id = c.deployment_id)')} as "changedAt",
            ${sideSql('fresh', 'c.deployment_id')} as new, ${sideSql('earlier', 'c.previous_id')} as previous,
            ${ms('clock_timestamp()')} as now
       from canaries c join deployments d on d.id = c.deployment_id join services s on s.id = c.service_id
       left join canary_sides fresh on fresh.deployment_id = c.deployment_id and fresh.side = 'new'
       left join canary_sides earlier on earlier.deployment_id = c.deployment_id and earlier.side = 'previous'
      where c.deployment_id = :deploymentId`,
    { deploymentId },
  );
}

export function openCanaries(db: Db): Promise<string[]> {
  return valuesOf<string>(db, 'select deployment_id from canaries where ended_at is null order by begun_at', []);
}

/**
 * Sends all visitors to the new release. Returns false if the canary has ended or its deployment is being cancelled.
 * The caller must have locked the service.
 */
export async function promoteCanary(trx: Transaction, id: string, reason: string): Promise<boolean> {
  const match = { id, status: 'canary' };
  const change = { sql: 'went_live_at = now()', after: MOVE_ROUTES };
  if ((await moveOpen(trx, DEPLOYMENTS, match, 'routeSwitched', change)) === 0) return false;
  await recordEnd(trx, id, { promoted: true, reason });
  return true;
}

/**
 * Sends all visitors back to the previous release, and lets a worker end the deployment. The caller must have locked
 * the service.
 */
export async function withdrawCanary(trx: Transaction, id: string, reason: string): Promise<void> {
  await sendVisitorsBack(trx, id, reason);
  await moveOpen(trx, DEPLOYMENTS, { id }, 'canaryWithdrawn');
}

/**
 * Sends all visitors back to the previous release, unless the canary has ended. The caller must have locked the
 * service.
 */
export async function sendVisitorsBack(trx: Transaction, id: string, reason: string): Promise<void> {
  const serviceId = await recordEnd(trx, id, { promoted: false, reason });
  if (serviceId !== null) await publishRouteChange(trx, serviceId);
}

/** Records the end of a canary. Returns the id of its service; null if the canary had already ended. */
function recordEnd(
  trx: Transaction,
  deploymentId: string,
  { promoted, reason }: { promoted: boolean; reason: string },
): Promise<string | null> {
  return oneValue<string>(
    trx,
    `update canaries set ended_at = now(), promoted = :promoted, reason = :reason
      where deployment_id = :deploymentId and ended_at is null returning service_id`,
    { deploymentId, promoted, reason },
  );
}
