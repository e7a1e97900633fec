import { v7 as uuidv7 } from 'uuid';
import {
  anyRow,
  countOf,
  type Db,
  oneRow,
  rowsOf,
  type Transaction,
  valuesOf,
} from '../core/database/database-client.js';
import { type Page, type PageRequest, pageOf } from '../core/database/page.js';
import { failOpen } from '../engine/cancel-requests.js';
import type { Lease } from '../engine/leases.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { ServiceRow } from '../services/rows.js';
import { BACKUPS } from './kind.js';
import type { BackupRow, BackupTrigger, KeptBackup, ScheduledService } from './model.js';

export interface NewBackup {
  service: Pick<ServiceRow, 'id' | 'workspace_id'>;
  trigger: BackupTrigger;
  actor: string;
  scheduledFor: Date | null;
  pause?: boolean;
}

/** Stores a queued backup. Returns null if the service has an unfinished one, or one for this scheduled time. */
export function insertBackup(trx: Transaction, { service, trigger, actor, scheduledFor, pause = false }: NewBackup) {
  return oneRow<BackupRow>(
    trx,
    `insert into backups (id, workspace_id, service_id, trigger, actor, scheduled_for, pause, dispatches, due_at)
     values (:id, :workspaceId, :serviceId, :trigger, :actor, :scheduledFor, :pause, 1, now())
     on conflict do nothing returning *`,
    {
      id: uuidv7(),
      workspaceId: service.workspace_id,
      serviceId: service.id,
      trigger,
      actor,
      scheduledFor,
      pause,
    },
  );
}

/** Records where a backup's archive will be written, and its key. Returns false if the lease is lost. */
export function recordArchive(
  db: Db,
  { id, fence }: Lease,
  { store, object, sealedKey }: { store: string; object: string; sealedKey: Buffer },
): Promise<boolean> {
  return anyRow(
    db,
    `update backups set store = :store, object = :object, sealed_key = :sealedKey, updated_at = now()
      where id = :id and fence = :fence and finished_at is null`,
    { id, fence, store, object, sealedKey },
  );
}

/** Marks the unfinished backup of a service that is being deleted as failed. Its worker loses the lease and stops. */
export function abandonBackups(trx: Transaction, serviceId: string): Promise<void> {
  return failOpen(trx, BACKUPS, { service_id: serviceId }, 'the service was deleted', { sql: 'sealed_key = null' });
}

export function findBackup(db: Db, serviceId: string, id: string): Promise<BackupRow | undefined> {
  return db<BackupRow>('backups').where({ id, service_id: serviceId, deleted_at: null }).first();
}

/** Returns the backup with this id, of any service; undefined if there is none. */
export function getBackup(db: Db, id: string): Promise<BackupRow | undefined> {
  return db<BackupRow>('backups').where({ id }).first();
}

/** Returns each service's latest successful backup; none if that backup lacks a current volume. */
export function latestBackups(db: Db, serviceIds: readonly string[]): Promise<BackupRow[]> {
  return rowsOf<BackupRow>(
    db,
    `select distinct on (b.service_id) b.* from backups b
      where b.service_id = any(:serviceIds) and b.status = 'succeeded' and b.deleted_at is null
        and not exists (select from volumes v where v.service_id = b.service_id and v.removed_at is null
                           and v.host_id is not null and v.created_at > b.created_at)
      order by b.service_id, b.created_at desc`,
    { serviceIds },
  );
}

export function listBackups(db: Db, serviceId: string, page: PageRequest): Promise<Page<BackupRow>> {
  return pageOf<BackupRow>(db, 'backups', { service_id: serviceId, deleted_at: null }, page);
}

export function hasOpenBackup(db: Db, serviceId: string): Promise<boolean> {
  return anyRow(db, 'select from backups where service_id = ? and finished_at is null', [serviceId]);
}

export function countManualBackups(db: Db, serviceId: string): Promise<number> {
  return countOf(
    db,
    `select count(*) from backups
      where service_id = ? and trigger = 'manual' and status = 'succeeded' and deleted_at is null`,
    [serviceId],
  );
}

/** Hides a finished backup. A sweep deletes its archive later. Returns false if the backup is not finished. */
export function hideBackup(db: Db, id: string): Promise<boolean> {
  const hide = 'update backups set deleted_at = coalesce(deleted_at, now()) where id = ? and finished_at is not null';
  return anyRow(db, hide, [id]);
}

/** SQL: true if the service `s` is active, has data to back up, and has scheduled backups enabled. */
const SCHEDULED = `(s.kind in ('postgres', 'redis')
    or exists (select from volumes v where v.service_id = s.id and v.removed_at is null and v.host_id is not null and v.node_id is null))
  and s.lifecycle_status = 'active' and not s.archived
  and s.deleted_at is null and s.live_deployment_id is not null and (s.configuration ->> 'backupEnabled')::boolean`;

const WITH_DATA = `array(
  select id from services where kind in ('postgres', 'redis') and deleted_at is null
  union select service_id from volumes where removed_at is null and host_id is not null)`;

/**
 * Returns services that have had no scheduled backup in the last day, and the database's time. Excludes services with a
 * backup or restore in progress.
 */
export function servicesToSchedule(
  db: Db,
): Promise<(Omit<ScheduledService, 'liveSince'> & { liveSince: Date | null; now: Date })[]> {
  return rowsOf(
    db,
    `select s.id, now() as now, last.slot as "lastSlot",
            (select min(d.went_live_at) from deployments d where d.service_id = s.id) as "liveSince"
       from services s
       cross join lateral (select max(b.scheduled_for) as slot from backups b where b.service_id = s.id) last
      where s.id = any(${WITH_DATA}) and ${SCHEDULED} and (last.slot is null or last.slot <= now() - interval '1 day')
        and not exists (select from backups b where b.service_id = s.id and b.finished_at is null)
        and not exists (select from operations o where o.service_id = s.id and o.finished_at is null and o.kind = 'restore')`,
  );
}

/** Returns true if a service has scheduled backups and no restore in progress. The service must be locked. */
export function isScheduled(trx: Transaction, serviceId: string): Promise<boolean> {
  return anyRow(
    trx,
    `select from services s where s.id = :serviceId and ${SCHEDULED}
        and not exists (select from operations o where o.service_id = s.id and o.finished_at is null and o.kind = 'restore')`,
    { serviceId },
  );
}

/**
 * Returns services that have a finished backup older than a day, each with all of its backups. Excludes services that
 * are being restored or whose backup is being restored.
 */
export async function backupsByAge(
  db: Db,
): Promise<{ serviceId: string; configuration: ServiceConfiguration; now: Date; backups: KeptBackup[] }[]> {
  const rows = await rowsOf<{
    serviceId: string;
    configuration: ServiceConfiguration;
    now: Date;
    backups: (Omit<KeptBackup, 'createdAt'> & { createdAt: string })[];
  }>(
    db,
    `select s.id as "serviceId", s.configuration, now() as now,
            json_agg(json_build_object('id', b.id, 'status', b.status, 'createdAt', b.created_at)) as backups
       from services s join backups b on b.service_id = s.id and b.deleted_at is null
      where s.deleted_at is null
        and exists (select from backups o where o.service_id = s.id and o.deleted_at is null and o.finished_at is not null
                                            and o.created_at <= now() - interval '1 day')
        and not exists (select from operations o where o.service_id = s.id and o.finished_at is null and o.kind = 'restore')
        and not exists (select from operations o join backups r on r.id = o.backup_id
                         where o.finished_at is null and r.service_id = s.id)
      group by s.id`,
  );
  return rows.map(({ backups, ...rest }) => ({
    ...rest,
    backups: backups.map((one) => ({ ...one, createdAt: new Date(one.createdAt) })),
  }));
}

export async function hideBackupsOfDeleted(db: Db): Promise<void> {
  await db.raw(
    `update backups b set deleted_at = now() from services s
      where s.id = b.service_id and s.deleted_at is not null and b.deleted_at is null and b.finished_at is not null`,
  );
}

/** Returns up to 100 hidden backups whose archive is in one of these stores or was never written. */
export function hiddenBackups(
  db: Db,
  stores: readonly string[],
): Promise<Pick<BackupRow, 'id' | 'service_id' | 'store'>[]> {
  return rowsOf(
    db,
    `select id, service_id, store from backups where deleted_at is not null and (store is null or store = any(:stores))
      order by deleted_at limit 100`,
    { stores },
  );
}

/** Deletes the row of a hidden backup. Its archive must already be deleted. */
export async function deleteBackup(db: Db, id: string): Promise<void> {
  await db.raw('delete from backups where id = ? and deleted_at is not null', [id]);
}

/** Returns which of these archives belong to a backup that has not failed. */
export async function namedObjects(db: Db, objects: readonly string[]): Promise<Set<string>> {
  const named = `select object from backups where object = any(:objects) and status <> 'failed'`;
  return new Set(await valuesOf<string>(db, named, { objects }));
}

/** Returns `<id>-<fence>` of each unfinished backup. A worker checks the backup in a folder with this name. */
export async function openClaims(db: Db): Promise<Set<string>> {
  return new Set(await valuesOf<string>(db, `select id || '-' || fence from backups where finished_at is null`));
}
