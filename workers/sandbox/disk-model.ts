/** Free and total space of the disk with DATA_DIR. `totalFiles` is 0 if the number of inodes is not fixed. */
export interface DiskRoom {
  freeBytes: number;
  totalBytes: number;
  freeFiles: number;
  totalFiles: number;
}

/** An amount of disk space and files. */
export interface Use {
  bytes: number;
  files: number;
}

/** A sandbox that writes to the disk. `grown` is its growth since free space became low. */
export interface Writer {
  id: string;
  /** True for builds and single commands, false for replicas. */
  isRun: boolean;
  used: Use;
  grown: Use;
  most: Use | null;
}

/** Share of the disk that is reserved for the platform and its database, with upper limits in bytes and files. */
const RESERVE_SHARE = 0.05;
const MAX_RESERVE: Use = { bytes: 2 * 1024 ** 3, files: 100_000 };
/** A replica is not killed if it has grown by less than this share of the reserve, because it did not fill the disk. */
const MIN_GROWTH = 1 / 16;
/** Disk space that a build or command may use, in bytes, in addition to three times the maximum size of one file. */
const RUN_BYTES = 4 * 1024 ** 3;
const MAX_RUN_FILES = 2_000_000;
const FILE_MB = 1024;

/** Returns how much of a disk of this size is reserved for the platform. */
export function reserveOf({ totalBytes, totalFiles }: Pick<DiskRoom, 'totalBytes' | 'totalFiles'>): Use {
  return {
    bytes: Math.min(MAX_RESERVE.bytes, totalBytes * RESERVE_SHARE),
    files: Math.min(MAX_RESERVE.files, totalFiles * RESERVE_SHARE),
  };
}

/**
 * Returns how much room the disk has. `low`: less than twice the reserve is free. `bytes` and `files`: less of them
 * than the reserve is free.
 */
export function roomState(room: DiskRoom): 'enough' | 'low' | 'bytes' | 'files' {
  const reserve = reserveOf(room);
  if (room.freeBytes < reserve.bytes) return 'bytes';
  if (room.totalFiles > 0 && room.freeFiles < reserve.files) return 'files';
  const isLow = room.freeBytes < 2 * reserve.bytes || (room.totalFiles > 0 && room.freeFiles < 2 * reserve.files);
  return isLow ? 'low' : 'enough';
}

/** Returns the disk space and number of files that a build or a command may use in all its folders. */
export function mostOfRun(fileSizeMb = FILE_MB): Use {
  return { bytes: RUN_BYTES + 3 * fileSizeMb * 1024 ** 2, files: MAX_RUN_FILES };
}

/** Returns true if a build or command uses more disk space or files than allowed. Replicas have no maximum. */
export function isOverBound({ used, most }: Pick<Writer, 'used' | 'most'>): boolean {
  return most !== null && (used.bytes > most.bytes || used.files > most.files);
}

/**
 * Returns the writer to kill to make room: the one that has grown most since free space became low. If none has grown
 * much, returns the largest build or command. Returns null if the disk has room, or if there is no such writer.
 */
export function writerToEnd(writers: readonly Writer[], room: DiskRoom): string | null {
  const state = roomState(room);
  if (state !== 'bytes' && state !== 'files') return null;
  const least = reserveOf(room)[state] * MIN_GROWTH;
  const grown = largest(writers, ({ grown }) => grown[state]);
  if (grown !== null && grown.grown[state] >= least) return grown.id;
  const runs = writers.filter(({ isRun }) => isRun);
  return largest(runs, ({ used }) => used[state])?.id ?? null;
}

function largest(writers: readonly Writer[], size: (writer: Writer) => number): Writer | null {
  return writers.reduce<Writer | null>((most, one) => (most === null || size(one) > size(most) ? one : most), null);
}
