import { oneValue, type Transaction } from '../core/database/database-client.js';
import { CHANNELS } from '../core/database/listener.js';

export const WAKES =
  'last_asleep_since = coalesce(asleep_since, last_asleep_since, now()), woke_at = now(), asleep_since = null';

/** SQL: how long a service slept before it woke the last time, in milliseconds. */
export const SLEPT_MS = 'cast(extract(epoch from woke_at - last_asleep_since) * 1000 as double precision)';

/**
 * Thaws the frozen replicas of a service, or of one release, and records a visit of the service now. Returns how long
 * the service slept, in milliseconds; null if no replica was frozen. To prevent deadlocks, locks replicas before their
 * service, as all other code does.
 */
export function thawReplicas(
  trx: Transaction,
  serviceId: string,
  deploymentId: string | null = null,
): Promise<number | null> {
  return oneValue<number>(
    trx,
    `with thawed as (
       update replicas set to_freeze = false, updated_at = now()
        where service_id = :serviceId and to_freeze and state <> 'stopped'
          and deployment_id = coalesce(cast(:deploymentId as uuid), deployment_id)
       returning pg_notify('${CHANNELS.replica}', cast(host_id as text))
     ), visited as (
       insert into service_visits (service_id) select cast(:serviceId as uuid) where exists (select from thawed)
       on conflict (service_id) do update set visited_at = now()
     )
     update services set ${WAKES}, route_version = nextval('route_versions'), updated_at = now()
      where id = :serviceId and exists (select from thawed)
     returning ${SLEPT_MS} as ms, pg_notify('${CHANNELS.route}', cast(id as text))`,
    { serviceId, deploymentId },
  );
}
