import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError } from '../failures/explained-errors.js';
import { diskRoom } from '../sandbox/disk-guard.js';
import { reserveOf, roomState } from '../sandbox/disk-model.js';

/** The subfolder of DATA_DIR in which backups are checked. */
export const CHECKS = 'backup-checks';

/** Returns the folder in which one attempt at a backup unpacks and checks its copy. */
export function checkFolder(dataDir: string, { id, fence }: { id: string; fence: number }): string {
  return join(dataDir, CHECKS, `${id}-${fence}`);
}

/** Creates a folder that only the platform's user can access. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Returns how many bytes may be used in a folder. Throws a `BackupError` if fewer than `bytes` are left. */
export async function assertRoom(folder: string, bytes: number, purpose: string): Promise<number> {
  const room = await diskRoom(folder);
  const reserve = reserveOf(room);
  if (roomState(room) === 'files') {
    throw new BackupError(`the disk of DATA_DIR has almost no inodes left for ${purpose}`);
  }
  const free = room.freeBytes;
  if (free >= bytes + reserve.bytes) return free - reserve.bytes;
  throw new BackupError(
    `the disk of DATA_DIR is too full: ${purpose} needs up to ${megabytes(bytes)}, and ${megabytes(free)} are free, of which ${megabytes(reserve.bytes)} are kept for the platform`,
  );
}

export const MINUTE = 60_000;

/** Returns the timeout for this number of bytes, in milliseconds. It limits how long a tenant can occupy a slot. */
export function timeFor({ always, perGigabyte }: { always: number; perGigabyte: number }, bytes: number): number {
  return Math.ceil(always + (bytes / 1024 ** 3) * perGigabyte);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
