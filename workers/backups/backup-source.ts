import type { ArchiveWriter, Manifest } from './backup-archive.js';

/** What a backup copies: a running database, or the volumes of a service. */
export interface BackupSource extends Pick<Manifest, 'kind' | 'version'> {
  /** The bytes that it holds now. */
  readonly bytes: number;
  /** The most bytes that its files may claim while they are copied. */
  readonly maxBytes: number;
  /** True if the check unpacks the copy on this host's disk. */
  readonly unpacks: boolean;
  copy(target: CopyTarget): Promise<Copied>;
}

interface CopyTarget {
  archive: ArchiveWriter;
  /** Names the copy: the id of the backup and its claim. */
  label: string;
  /** A folder for what is only needed during the copy. It need not exist. */
  folder: string;
  /** True if the application must not write meanwhile. */
  pause: boolean;
  signal: AbortSignal;
}

interface Copied extends Pick<Manifest, 'facts'> {
  /** Sentences for the log about what the copy lacks; '' if there are none. */
  remarks: string;
}
