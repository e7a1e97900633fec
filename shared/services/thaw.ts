import { oneRow, type Transaction } from '../core/database/database-client.js';
import { CHANNELS } from '../core/database/listener.js';

/** SQL: what changes in `services` when a service wakes. */
export const WAKES =
  'last_asleep_since = coalesce(asleep_since, last_asleep_since, now()), woke_at = now(), asleep_since = null';

/** SQL: for how many milliseconds the service slept that has just been woken. */
export const SLEPT_MS = 'cast(extract(epoch from woke_at - last_asleep_since) * 1000 as double precision)';

/**
 * Lets the frozen replicas of a service run again, and counts as a visit. Returns for how many milliseconds the service
 * slept; null if none was frozen. With `deploymentId`, only those of this release. It is one statement, because a
 * request waits for it. It locks replicas before their service, as all do.
 */
export async function thawReplicas(
  trx: Transaction,
  serviceId: string,
  deploymentId: string | null = null,
): Promise<number | null> {
  const row = await oneRow<{ ms: number }>(
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
  return row?.ms ?? null;
}
