import type { LeasedColumns } from '../engine/kind.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { ServiceKind } from '../services/model.js';
import { DATABASE_PLANS, PLANS, type Plan } from '../services/plan-catalog.js';
import { VOLUME_KINDS } from '../volumes/model.js';

/** A backup is a checked copy of a database, or of the volumes of a service: queued → running → succeeded | failed. */
export const BACKUP_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type BackupStatus = (typeof BACKUP_STATUSES)[number];

export const BACKUP_TRIGGERS = ['schedule', 'manual'] as const;
export type BackupTrigger = (typeof BACKUP_TRIGGERS)[number];

/** Kinds of services that can have backups: databases, and services with volumes. */
export const BACKED_UP_KINDS: readonly ServiceKind[] = ['postgres', 'redis', ...VOLUME_KINDS];

/** How many backups on demand a service may have at a time, because each needs disk space. */
export const MAX_MANUAL_BACKUPS = 10;

export interface BackupRow extends LeasedColumns<BackupStatus> {
  service_id: string;
  trigger: BackupTrigger;
  actor: string;
  scheduled_for: Date | null;
  /** True if the service's containers are paused while its volumes are copied. */
  pause: boolean;
  size_bytes: number | null;
  data_bytes: number | null;
  sealed_key: Buffer | null;
  store: string | null;
  object: string | null;
  started_at: Date | null;
  deleted_at: Date | null;
}

const DAY_MS = 24 * 3_600_000;

/** Returns for how many days a service's backups are kept: the configured number, limited by the plan. */
export function retentionDays({
  backupRetentionDays,
  plan,
}: Pick<ServiceConfiguration, 'backupRetentionDays' | 'plan'>): number {
  // The plans of databases and of services with the same id keep backups for the same time.
  const plans: readonly Plan[] = [...DATABASE_PLANS, ...PLANS];
  const most = plans.find(({ id }) => id === plan)?.backupRetentionDays ?? 1;
  return Math.min(backupRetentionDays, most);
}

/**
 * Returns when a backup made at `createdAt` expires. The service's current retention applies, also to older backups.
 */
export function expiryOf(createdAt: Date, configuration: Parameters<typeof retentionDays>[0]): Date {
  return new Date(createdAt.getTime() + retentionDays(configuration) * DAY_MS);
}

/**
 * Returns the time of day at which a service is backed up, in milliseconds after midnight (UTC). Services are spread over the day.
 */
export function slotOfDay(serviceId: string): number {
  // The last digits of a UUID are random, also in version 7.
  const random = Number.parseInt(serviceId.replaceAll('-', '').slice(-8), 16);
  return Math.floor((random / 0x1_0000_0000) * 86_400) * 1000;
}

export interface ScheduledService {
  id: string;
  /** When the service first ran. Backup times before that are not due. */
  liveSince: Date;
  /** The newest backup time for which a backup was made. */
  lastSlot: Date | null;
}

/**
 * Returns the daily backup time for which a backup is due, or null. If several were missed, returns only the latest.
 */
export function dueSlot({ id, liveSince, lastSlot }: ScheduledService, now: Date): Date | null {
  const offset = slotOfDay(id);
  const slot = Math.floor((now.getTime() - offset) / DAY_MS) * DAY_MS + offset;
  if (slot <= liveSince.getTime() || (lastSlot !== null && slot <= lastSlot.getTime())) return null;
  return new Date(slot);
}

export interface KeptBackup {
  id: string;
  status: BackupStatus;
  createdAt: Date;
}

/** Returns which of a service's backups have expired. The newest successful backup is kept, whatever its age. */
export function expiredBackups(
  backups: readonly KeptBackup[],
  configuration: Parameters<typeof retentionDays>[0],
  now: Date,
): string[] {
  const good = backups.filter(({ status }) => status === 'succeeded');
  const newest = good.reduce<KeptBackup | null>(
    (best, one) => (best === null || one.createdAt > best.createdAt ? one : best),
    null,
  );
  return backups
    .filter(({ id, status }) => (status === 'succeeded' || status === 'failed') && id !== newest?.id)
    .filter(({ createdAt }) => expiryOf(createdAt, configuration) <= now)
    .map(({ id }) => id);
}

const OBJECT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+$/;

/** Returns true if `objectName` can have made this name. Other objects in the store must not be deleted. */
export function isObjectName(name: string): boolean {
  return OBJECT.test(name);
}

/** Returns the name of an archive in its store. `fence` belongs to the claim of the worker that makes the archive. */
export function objectName(serviceId: string, backupId: string, fence: number): string {
  return `${serviceId}/${backupId}-${fence}`;
}
