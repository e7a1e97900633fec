import type { LeasedColumns } from '../engine/kind.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { ServiceKind } from '../services/model.js';
import { DATABASE_PLANS, PLANS, type Plan } from '../services/plan-catalog.js';
import { VOLUME_KINDS } from '../volumes/model.js';

export const BACKUP_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type BackupStatus = (typeof BACKUP_STATUSES)[number];

export const BACKUP_TRIGGERS = ['schedule', 'manual'] as const;
export type BackupTrigger = (typeof BACKUP_TRIGGERS)[number];

export const BACKED_UP_KINDS: readonly ServiceKind[] = ['postgres', 'redis', ...VOLUME_KINDS];

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

/** Returns the retention of a service's backups in days: the configured number, limited by the plan. */
export function retentionDays({
  backupRetentionDays,
  plan,
}: Pick<ServiceConfiguration, 'backupRetentionDays' | 'plan'>): number {
  // A database plan and a service plan with the same id have the same backup retention, so either may be found.
  const plans: readonly Plan[] = [...DATABASE_PLANS, ...PLANS];
  const most = plans.find(({ id }) => id === plan)?.backupRetentionDays ?? 1;
  return Math.min(backupRetentionDays, most);
}

/** Returns when a backup expires. The service's current retention also applies to older backups. */
export function expiryOf(createdAt: Date, configuration: Parameters<typeof retentionDays>[0]): Date {
  return new Date(createdAt.getTime() + retentionDays(configuration) * DAY_MS);
}

/** Returns a service's daily backup time, in milliseconds after midnight (UTC). It is derived from the id. */
export function slotOfDay(serviceId: string): number {
  // The last digits of a UUID are random, even in version 7. So the backup times are evenly spread over the day.
  const random = Number.parseInt(serviceId.replaceAll('-', '').slice(-8), 16);
  return Math.floor((random / 0x1_0000_0000) * 86_400) * 1000;
}

export interface ScheduledService {
  id: string;
  /** When the service first went live. No backup is due for scheduled times before this. */
  liveSince: Date;
  /** The last scheduled time for which a backup was created; null if there is none. */
  lastSlot: Date | null;
}

/** Returns the scheduled time for which a backup is due, or null. If several were missed, returns only the latest. */
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

/** Returns which of a service's backups have expired. The newest successful backup never expires. */
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

/** Returns true if `objectName` could have generated this name. Other objects in the store must not be deleted. */
export function isObjectName(name: string): boolean {
  return OBJECT.test(name);
}

/** Returns the name of a backup's archive in the store. `fence` is the fence of the claim that writes the archive. */
export function objectName(serviceId: string, backupId: string, fence: number): string {
  return `${serviceId}/${backupId}-${fence}`;
}
