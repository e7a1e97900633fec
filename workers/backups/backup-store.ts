import type { Readable } from 'node:stream';

export interface StoredObject {
  name: string;
  changedAt: Date;
}

/** Where archives are stored. After `write`, an archive counts as incomplete until `publish` is called. */
export interface BackupStore {
  /** The value in `backups.store`: `s3`, or `folder:` and the id of the host. */
  readonly id: string;
  /**
   * Stores an archive. Replaces an archive of the same name. Returns its size in bytes. A failed write leaves nothing.
   */
  write(name: string, archive: Readable, signal: AbortSignal): Promise<number>;
  /** Reads an archive, published or not. Throws a `BackupError` if there is none. */
  read(name: string, signal: AbortSignal): Promise<Readable>;
  /** Marks an archive as complete, atomically. */
  publish(name: string): Promise<void>;
  /** Removes an archive, published or not. Does nothing if it does not exist. */
  remove(name: string): Promise<void>;
  /** Lists all archives, published or not, whose names begin with `prefix`. */
  list(prefix: string): Promise<StoredObject[]>;
}
