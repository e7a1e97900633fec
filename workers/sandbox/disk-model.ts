/** The room on the disk of DATA_DIR. `totalFiles` is 0 for a file system that makes inodes on demand. */
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

/** A sandbox that writes to the disk. `grown` is its growth since the disk became low. */
export interface Writer {
  id: string;
  /** True for builds and single commands, false for replicas. */
  isRun: boolean;
  used: Use;
  grown: Use;
  most: Use | null;
}

/** The share of the disk that is kept for the platform and its database, with upper bounds in bytes and files. */
const RESERVE_SHARE = 0.05;
const MAX_RESERVE: Use = { bytes: 2 * 1024 ** 3, files: 100_000 };
/** A replica that has grown by less than this part of the reserve is not ended: it did not fill the disk. */
const MIN_GROWTH = 1 / 16;
/** What a build or a command may use besides three times its largest allowed file. */
const RUN_BYTES = 4 * 1024 ** 3;
const MAX_RUN_FILES = 2_000_000;
const FILE_MB = 1024;

/** Returns the reserve of a disk of this size. */
export function reserveOf({ totalBytes, totalFiles }: Pick<DiskRoom, 'totalBytes' | 'totalFiles'>): Use {
  return {
    bytes: Math.min(MAX_RESERVE.bytes, totalBytes * RESERVE_SHARE),
    files: Math.min(MAX_RESERVE.files, totalFiles * RESERVE_SHARE),
  };
}

/** Returns what is scarce. `bytes` or `files`: a part of the reserve is used. `low`: below twice the reserve. */
export function roomState(room: DiskRoom): 'enough' | 'low' | 'bytes' | 'files' {
  const reserve = reserveOf(room);
  if (room.freeBytes < reserve.bytes) return 'bytes';
  if (room.totalFiles > 0 && room.freeFiles < reserve.files) return 'files';
  const isLow = room.freeBytes < 2 * reserve.bytes || (room.totalFiles > 0 && room.freeFiles < 2 * reserve.files);
  return isLow ? 'low' : 'enough';
}

/** Returns the most that a build or a single command may use, in all its folders together. */
export function mostOfRun(fileSizeMb = FILE_MB): Use {
  return { bytes: RUN_BYTES + 3 * fileSizeMb * 1024 ** 2, files: MAX_RUN_FILES };
}

/** Returns true if a build or a command uses more than it may. */
export function isOverBound({ used, most }: Pick<Writer, 'used' | 'most'>): boolean {
  return most !== null && (used.bytes > most.bytes || used.files > most.files);
}

/**
 * Returns the writer to end to make room: the one that has grown most since the disk became low.
 * If none has grown much, it is the largest build or command; null if none fills the disk.
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
