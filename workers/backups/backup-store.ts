import type { Readable } from 'node:stream';

/** An archive that a store holds, whole or not. */
export interface StoredObject {
  name: string;
  changedAt: Date;
}

/**
 * Where archives are kept. A store holds an archive in two steps: `write`, after which it can be read and is not whole, and
 * `publish`. An archive that was not published is what a worker that died has left behind.
 */
export interface BackupStore {
  /** What the rows of backups say: `s3`, or `folder:` and the id of the host. */
  readonly id: string;
  /** Stores an archive, replacing one of the same name. Returns its size in bytes. If it fails, nothing is left. */
  write(name: string, archive: Readable, signal: AbortSignal): Promise<number>;
  /** Reads an archive, published or not. Throws a `BackupError` if there is none. */
  read(name: string, signal: AbortSignal): Promise<Readable>;
  /** Makes an archive whole, atomically: the last step of a backup. */
  publish(name: string): Promise<void>;
  /** Removes an archive, published or not. It is no error if there is none. */
  remove(name: string): Promise<void>;
  /** All archives, published or not, whose name begins with this. */
  list(prefix: string): Promise<StoredObject[]>;
}
