import type { VolumeRow } from '../../shared/volumes/model.js';

export type VolumeState = VolumeRow['storage_state'];

/** Bytes of a gigabyte, as sizes of volumes are given. */
export const GIGABYTE = 1_000_000_000;
/** Where a volume is nearly full, and where its service is stopped if nothing else bounds it: in hundredths of its size. */
const NEARLY_FULL_PERCENT = 90;
const STOPPED_PERCENT = 110;

/** What a worker finds of a volume on the volume's host. */
export interface ObservedVolume {
  /** True if the volume has its image or its folder already. */
  made: boolean;
  /** The id of the service that its marker names. */
  marker: string | null;
  /** True if there is the image of a file system. */
  hasImage: boolean;
  hasContent: boolean;
  /** True if the host can mount images. */
  canMount: boolean;
}

/** What to do before a volume is mounted. */
export type VolumeDecision =
  | { type: 'makeImage' }
  /** Nothing bounds a plain folder: it is counted. */
  | { type: 'makeFolder' }
  | { type: 'useImage' }
  | { type: 'useFolder' }
  | { type: 'refuse'; reason: string };

/** Decides what to do before a volume is mounted. Content that is missing or foreign is never replaced by an empty volume. */
export function decideVolume(
  { made, marker, hasImage, hasContent, canMount }: ObservedVolume,
  { serviceId, name }: { serviceId: string; name: string },
): VolumeDecision {
  const refuse = (reason: string): VolumeDecision => ({ type: 'refuse', reason });
  if (marker !== null && marker !== serviceId)
    return refuse(`the folder of volume ${name} belongs to service ${marker}`);
  if (marker === null) {
    if (made) return refuse(`the content of volume ${name} is not on this host; restore it from a backup`);
    // An attempt to make it was interrupted before the marker was written: nothing has used it.
    return { type: canMount ? 'makeImage' : 'makeFolder' };
  }
  if (hasImage) return canMount ? { type: 'useImage' } : refuse(`this host cannot mount the image of volume ${name}`);
  return hasContent
    ? { type: 'useFolder' }
    : refuse(`the content of volume ${name} is missing; restore it from a backup`);
}

/**
 * Decides how full a volume is. With `hard` the file system refuses to write more than its size. Otherwise the volume is `full`, and its
 * service is stopped, from 110 per cent on.
 */
export function volumeState(usedBytes: number, sizeGb: number, hard: boolean): VolumeState {
  const percent = (usedBytes / (sizeGb * GIGABYTE)) * 100;
  if (!hard && percent >= STOPPED_PERCENT) return 'full';
  return percent >= NEARLY_FULL_PERCENT ? 'nearly_full' : 'open';
}

/** Returns the bytes of the file system in an image, of which the start is given. Returns null if there is none. */
export function fileSystemBytes(start: Buffer): number | null {
  const SUPERBLOCK = 1024;
  if (start.length < SUPERBLOCK + 64 || start.readUInt16LE(SUPERBLOCK + 56) !== 0xef53) return null;
  return start.readUInt32LE(SUPERBLOCK + 4) * 1024 * 2 ** start.readUInt32LE(SUPERBLOCK + 24);
}

/**
 * Returns the bytes that an ext4 file system holds, by its beginning; null if it does not say.
 * They are exact while nothing has it mounted.
 */
export function fileSystemUsedBytes(start: Buffer): number | null {
  const SUPERBLOCK = 1024;
  const bytes = fileSystemBytes(start);
  if (bytes === null || start.length < SUPERBLOCK + 588) return null;
  const block = 1024 * 2 ** start.readUInt32LE(SUPERBLOCK + 24);
  // Its own tables and its journal, which statfs does not count either.
  const overhead = start.readUInt32LE(SUPERBLOCK + 584);
  const free = start.readUInt32LE(SUPERBLOCK + 12);
  return overhead === 0 ? null : Math.max(0, bytes - (overhead + free) * block);
}
