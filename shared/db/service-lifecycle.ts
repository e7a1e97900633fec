import type { LifecycleStatus } from '../domain/service.js';
import { type Db, rowsOf, type Transaction } from './client.js';
import { CHANNELS } from './listener.js';
import type { ServiceRow } from './rows.js';

/** A service that exists, or undefined. */
export async function getService(db: Db, id: string): Promise<ServiceRow | undefined> {
  return db<ServiceRow>('services').where({ id }).whereNull('deleted_at').first();
}

/** Reads a service for a change of its state: whoever else wants that waits for our commit. */
export async function lockService(trx: Transaction, id: string): Promise<ServiceRow | undefined> {
  return trx<ServiceRow>('services').where({ id }).whereNull('deleted_at').forUpdate().first();
}

/** Says that what the edge serves for a service has changed; returns the version that edges must reach. */
export async function touchRoute(trx: Db, serviceId: string): Promise<number> {
  const [row] = await rowsOf<{ route_version: number }>(
    trx,
    `update services set route_version = nextval('route_versions'), updated_at = now() where id = ? returning route_version`,
    [serviceId],
  );
  await trx.raw('select pg_notify(?, ?)', [CHANNELS.route, serviceId]);
  return row?.route_version ?? 0;
}

/** Moves a service between active and suspended; undefined where it is in none of `from`. */
export async function moveLifecycle(
  trx: Transaction,
  serviceId: string,
  from: readonly LifecycleStatus[],
  to: LifecycleStatus,
): Promise<number | undefined> {
  const rows = await rowsOf<{ id: string }>(
    trx,
    'update services set lifecycle_status = :to, updated_at = now() where id = :serviceId and lifecycle_status = any(:from) returning id',
    { serviceId, to, from },
  );
  return rows.length > 0 ? touchRoute(trx, serviceId) : undefined;
}

/** The service is archived and its deletion begins; the edge stops serving it. */
export async function markDeleting(trx: Transaction, serviceId: string): Promise<void> {
  await trx.raw(
    `update services
        set archived = true, lifecycle_status = 'deleting', deletion_requested_at = coalesce(deletion_requested_at, now())
      where id = ?`,
    [serviceId],
  );
  await touchRoute(trx, serviceId);
}

/** True where a service has anything outside the database: a release, processes, images or a deployment under way. */
export async function hasInfrastructure(db: Db, serviceId: string): Promise<boolean> {
  const [row] = await rowsOf<{ found: boolean }>(
    db,
    `select exists (select 1 from services where id = :serviceId and live_deployment_id is not null)
         or exists (select 1 from replicas where service_id = :serviceId and state <> 'stopped')
         or exists (select 1 from images where service_id = :serviceId and removed_at is null)
         or exists (select 1 from deployments where service_id = :serviceId and status in ('queued', 'building', 'releasing'))
         as found`,
    { serviceId },
  );
  return row?.found ?? false;
}

/**
 * The end of a service: its variables, secret snapshots and logs are erased; the record stays, marked deleted, for the
 * operations and deployments that refer to it.
 */
export async function eraseService(trx: Transaction, serviceId: string): Promise<void> {
  for (const table of [
    'variables',
    'environment_group_services',
    'log_batches',
    'log_lines',
    'log_counters',
    'replicas',
  ]) {
    await trx(table).where({ service_id: serviceId }).delete();
  }
  await trx.raw(`update deployments set sealed_variables = '' where service_id = ?`, [serviceId]);
  await trx.raw('update images set removed_at = now() where service_id = ? and removed_at is null', [serviceId]);
  await trx.raw(
    `update services
        set deleted_at = now(), deletion_requested_at = coalesce(deletion_requested_at, now()), archived = true,
            lifecycle_status = 'deleted', live_deployment_id = null
      where id = ?`,
    [serviceId],
  );
  await touchRoute(trx, serviceId);
}
