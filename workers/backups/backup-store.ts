import type { Readable } from 'node:stream';

/** An archive in a store, complete or not. */
export interface StoredObject {
  name: string;
  changedAt: Date;
}

/**
 * Where archives are stored. Storing takes two steps: after `write` the archive can be read but counts as incomplete;
 * `publish` completes it. An archive that stays unpublished was left behind by a worker that died.
 */
export interface BackupStore {
  /** The value in `backups.store`: `s3`, or `folder:` and the id of the host. */
  readonly id: string;
  /** Stores an archive, replacing one of the same name. Returns its size in bytes. A failed write leaves nothing. */
  write(name: string, archive: Readable, signal: AbortSignal): Promise<number>;
  /** Reads an archive, published or not. Throws a `BackupError` if there is none. */
  read(name: string, signal: AbortSignal): Promise<Readable>;
  /** Marks an archive as complete, atomically. This is the last step of a backup. */
  publish(name: string): Promise<void>;
  /** Removes an archive, published or not. Does nothing if it does not exist. */
  remove(name: string): Promise<void>;
  /** Lists all archives, published or not, whose names begin with `prefix`. */
  list(prefix: string): Promise<StoredObject[]>;
}
