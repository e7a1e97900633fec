import { anyRow, type Db, type Transaction } from '../core/database/database-client.js';
import { releaseDomains } from '../domains/store.js';
import { SEALED_COLUMNS } from '../secrets/sealed-columns.js';
import { lockSlug } from '../services/insert-service.js';
import type { LifecycleStatus } from '../services/model.js';
import { publishRouteChange } from '../services/publish-route.js';
import type { ServiceRow } from '../services/rows.js';
import { freeUserNumber } from '../services/user-numbers.js';

/** Changes a service's lifecycle status. Returns the new route version; undefined if the status is not in `from`. */
export async function moveLifecycle(
  trx: Transaction,
  serviceId: string,
  from: readonly LifecycleStatus[],
  to: LifecycleStatus,
): Promise<number | undefined> {
  const isMoved = await anyRow(
    trx,
    'update services set lifecycle_status = :to, updated_at = now() where id = :serviceId and lifecycle_status = any(:from)',
    { serviceId, to, from },
  );
  return isMoved ? publishRouteChange(trx, serviceId) : undefined;
}

/** Archives the service and marks it as being deleted. The edge then stops serving it. */
export async function markDeleting(trx: Transaction, serviceId: string): Promise<void> {
  await trx.raw(
    `update services
        set archived = true, lifecycle_status = 'deleting', deletion_requested_at = coalesce(deletion_requested_at, now())
      where id = ?`,
    [serviceId],
  );
  await publishRouteChange(trx, serviceId);
}

/** Returns true if a service has a release, replicas, images, an open deployment, or data on a host. */
export function hasInfrastructure(db: Db, serviceId: string): Promise<boolean> {
  return anyRow(
    db,
    `select where exists (select 1 from services where id = :serviceId and live_deployment_id is not null)
         or exists (select 1 from replicas where service_id = :serviceId and state <> 'stopped')
         or exists (select 1 from images where service_id = :serviceId and removed_at is null)
         or exists (select 1 from deployments where service_id = :serviceId and finished_at is null)
         or exists (select 1 from data_servers where id = :serviceId and host_id is not null)
         or exists (select 1 from volumes where service_id = :serviceId and host_id is not null)`,
    { serviceId },
  );
}

/** Tables whose rows are deleted together with their service, in this order. */
const ERASED_WITH_SERVICE = [
  'environment_group_services',
  'previews',
  'preview_databases',
  'commit_events',
  'commit_heads',
  'stack_heads',
  'commit_watches',
  'pushes',
  'pushed_repositories',
  'replicas',
  'schedules',
  'runs',
  'log_counters',
  'drain_lines',
  'log_batches',
  'log_lines',
];

/**
 * Erases a service's sealed values, logs and runs, and marks it as deleted. Its row is kept, because other rows refer
 * to it and its slug stays reserved for 30 days.
 */
export async function eraseService(trx: Transaction, serviceId: string): Promise<void> {
  const service = await trx<ServiceRow>('services').where({ id: serviceId }).first('slug');
  if (service) await lockSlug(trx, service.slug);
  for (const { table, column, erased } of SEALED_COLUMNS) {
    if (erased === null) continue;
    const rows = trx(table).where({ [erased.service]: serviceId });
    await (erased.how === 'row' ? rows.delete() : rows.update({ [column]: null }));
  }
  for (const table of ERASED_WITH_SERVICE) {
    await trx(table).where({ service_id: serviceId }).delete();
  }
  await releaseDomains(trx, serviceId);
  await trx.raw('update images set removed_at = now() where service_id = ? and removed_at is null', [serviceId]);
  await freeUserNumber(trx, serviceId);
  await trx.raw(
    `update services
        set deleted_at = now(), deletion_requested_at = coalesce(deletion_requested_at, now()), archived = true,
            lifecycle_status = 'deleted', live_deployment_id = null
      where id = ?`,
    [serviceId],
  );
  await publishRouteChange(trx, serviceId);
}
