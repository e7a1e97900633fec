/** `totalFiles` is 0 if the number of inodes is not fixed. */
export interface DiskRoom {
  freeBytes: number;
  totalBytes: number;
  freeFiles: number;
  totalFiles: number;
}

export interface Use {
  bytes: number;
  files: number;
}

/** `grown` is the growth since free space became low. */
export interface Writer {
  id: string;
  /** True for builds and single commands, false for replicas. */
  isRun: boolean;
  used: Use;
  grown: Use;
  most: Use | null;
}

/** Share of the disk that is reserved for the platform and its database, and the upper limits of the reserve. */
const RESERVE_SHARE = 0.05;
const MAX_RESERVE: Use = { bytes: 2 * 1024 ** 3, files: 100_000 };
/** A replica that has grown by less than this share of the reserve did not fill the disk. */
const MIN_GROWTH = 1 / 16;
/** Disk space that a build or command may use in addition to three times the maximum size of one file. */
const RUN_BYTES = 4 * 1024 ** 3;
const MAX_RUN_FILES = 2_000_000;
const FILE_MB = 1024;

/** Returns how much of a disk is reserved for the platform. */
export function reserveOf({ totalBytes, totalFiles }: Pick<DiskRoom, 'totalBytes' | 'totalFiles'>): Use {
  return {
    bytes: Math.min(MAX_RESERVE.bytes, totalBytes * RESERVE_SHARE),
    files: Math.min(MAX_RESERVE.files, totalFiles * RESERVE_SHARE),
  };
}

/**
 * Returns how much room the disk has. `low` means that less than twice the reserve is free. `bytes` and `files` mean
 * that fewer bytes or files than the reserve are free.
 */
export function roomState(room: DiskRoom): 'enough' | 'low' | 'bytes' | 'files' {
  const reserve = reserveOf(room);
  if (room.freeBytes < reserve.bytes) return 'bytes';
  if (room.totalFiles > 0 && room.freeFiles < reserve.files) return 'files';
  const isLow = room.freeBytes < 2 * reserve.bytes || (room.totalFiles > 0 && room.freeFiles < 2 * reserve.files);
  return isLow ? 'low' : 'enough';
}

/** Returns how much a build or a command may use in all its folders. */
export function mostOfRun(fileSizeMb = FILE_MB): Use {
  return { bytes: RUN_BYTES + 3 * fileSizeMb * 1024 ** 2, files: MAX_RUN_FILES };
}

/** Returns true if a build or command uses more than it may. Replicas have no maximum. */
export function isOverBound({ used, most }: Pick<Writer, 'used' | 'most'>): boolean {
  return most !== null && (used.bytes > most.bytes || used.files > most.files);
}

/**
 * Returns the id of the writer to kill; null if there is enough room or nothing to kill. The function chooses the
 * writer that has grown most since free space became low or, if no writer has grown much, the largest build or command.
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
