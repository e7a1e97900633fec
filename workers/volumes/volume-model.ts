import type { VolumeRow } from '../../shared/volumes/model.js';

export type VolumeState = VolumeRow['storage_state'];

export const GIGABYTE = 1_000_000_000;
/**
 * Percentages of a volume's size. A service that uses `STOPPED_PERCENT` is stopped, unless the file system itself
 * limits the volume.
 */
const NEARLY_FULL_PERCENT = 90;
const STOPPED_PERCENT = 110;

export interface ObservedVolume {
  /** True if the volume was created earlier, even if its content is missing now. */
  made: boolean;
  marker: string | null;
  hasImage: boolean;
  hasContent: boolean;
  canMount: boolean;
}

export type VolumeDecision =
  | { type: 'makeImage' }
  /** A plain folder has no hard limit, so its usage is measured. */
  | { type: 'makeFolder' }
  | { type: 'useImage' }
  | { type: 'useFolder' }
  | { type: 'refuse'; reason: string };

/** Decides what to do before a volume is mounted. Missing or foreign content is never replaced by an empty volume. */
export function decideVolume(
  { made, marker, hasImage, hasContent, canMount }: ObservedVolume,
  { serviceId, name }: { serviceId: string; name: string },
): VolumeDecision {
  const refuse = (reason: string): VolumeDecision => ({ type: 'refuse', reason });
  if (marker !== null && marker !== serviceId)
    return refuse(`the folder of volume ${name} belongs to service ${marker}`);
  if (marker === null) {
    if (made) return refuse(`the content of volume ${name} is not on this host; restore it from a backup`);
    // The marker is written when a volume is complete. Without it, nothing has used the volume yet.
    return { type: canMount ? 'makeImage' : 'makeFolder' };
  }
  if (hasImage) return canMount ? { type: 'useImage' } : refuse(`this host cannot mount the image of volume ${name}`);
  return hasContent
    ? { type: 'useFolder' }
    : refuse(`the content of volume ${name} is missing; restore it from a backup`);
}

/** Decides how full a volume is. `hard` is true if the file system itself enforces the size. */
export function volumeState(usedBytes: number, sizeGb: number, hard: boolean): VolumeState {
  const percent = (usedBytes / (sizeGb * GIGABYTE)) * 100;
  if (!hard && percent >= STOPPED_PERCENT) return 'full';
  return percent >= NEARLY_FULL_PERCENT ? 'nearly_full' : 'open';
}

/** Returns the size of the file system in an image, in bytes; null if there is none. */
export function fileSystemBytes(start: Buffer): number | null {
  const SUPERBLOCK = 1024;
  if (start.length < SUPERBLOCK + 64 || start.readUInt16LE(SUPERBLOCK + 56) !== 0xef53) return null;
  return start.readUInt32LE(SUPERBLOCK + 4) * 1024 * 2 ** start.readUInt32LE(SUPERBLOCK + 24);
}

/** Returns how many bytes of an unmounted ext4 file system are used; null if that is unknown. */
export function fileSystemUsedBytes(start: Buffer): number | null {
  const SUPERBLOCK = 1024;
  const bytes = fileSystemBytes(start);
  if (bytes === null || start.length < SUPERBLOCK + 588) return null;
  const block = 1024 * 2 ** start.readUInt32LE(SUPERBLOCK + 24);
  // The file system's own tables and journal do not count as used, as in `statfs`.
  const overhead = start.readUInt32LE(SUPERBLOCK + 584);
  const free = start.readUInt32LE(SUPERBLOCK + 12);
  return overhead === 0 ? null : Math.max(0, bytes - (overhead + free) * block);
}
