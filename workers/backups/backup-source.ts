import type { ArchiveWriter, Manifest } from './backup-archive.js';

/** What a backup copies: a running database, or the volumes of a service. */
export interface BackupSource extends Pick<Manifest, 'kind' | 'version'> {
  readonly bytes: number;
  readonly maxBytes: number;
  /** True if the check of the archive unpacks it on this host, which then needs room on its disk. */
  readonly unpacks: boolean;
  copy(target: CopyTarget): Promise<Copied>;
}

interface CopyTarget {
  archive: ArchiveWriter;
  /** Identifies this attempt to copy: the id of the backup and the number of its claim (`fence`). */
  label: string;
  /** A folder for files that are needed only during the copy. It need not exist. */
  folder: string;
  /** True if the application must not write during the copy. */
  pause: boolean;
  signal: AbortSignal;
}

interface Copied extends Pick<Manifest, 'facts'> {
  /** Sentences for the log about what the copy lacks; '' for none. */
  remarks: string;
}
