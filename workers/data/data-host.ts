import type { Db } from '../../shared/core/database/database-client.js';
import { type DataServerRow, findDataServer } from '../../shared/data/store.js';
import { ReleaseError } from '../failures/explained-errors.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import type { ServerHealth } from './server-health.js';
import type { AdminAddress } from './settle-postgres.js';

/** The database servers of one host, which is a single machine or a whole Docker swarm. */
export interface DataHost {
  readonly hostId: string;
  readonly health: ServerHealth;
  /** Returns the path, on this host, of the program that checks backups. Throws `ReleaseError` if there is none. */
  programOf(spec: ReleaseSpec): Promise<string>;
  /** Returns the server's data folder; null if this worker's host cannot read it and the server must send its files. */
  dataFolderOf(serviceId: string): string | null;
  /** Returns the size of the server's data without PostgreSQL's WAL, in bytes; null if it cannot be measured now. */
  measure(row: DataServerRow, admin: AdminAddress | null): Promise<number | null>;
  /** Opens the volume of a service. The caller closes it. Throws `ReleaseError` if it cannot be reached. */
  openVolume(serviceId: string): Promise<VolumeFiles>;
  /** Removes the folders that finished restores left, and returns their number. `only` is the id of a service. */
  removeRestoreLeftovers(statusOf: (operationId: string) => Promise<string | null>, only?: string): Promise<number>;
  /** Removes the volumes of deleted services. Returns how many. */
  removeVolumes(): Promise<number>;
}

/** Name of the folder on a volume that contains the files of the database server. */
export const DATA = 'data';

/** The files of a volume, which may be on another machine. Names are relative to its top folder. */
export interface VolumeFiles {
  names(): Promise<string[]>;
  /** Renames an entry and syncs the folder to the disk. */
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Writes the marker, a file that names the service to which the volume belongs, and syncs it to the disk. */
  writeMarker(): Promise<void>;
  /** Returns a folder on this worker's host in which to unpack and check a backup before `adopt`. */
  stagingOf(name: string): string;
  /** Copies the folder `data` of the staging folder to the volume, below `name`, and syncs it to the disk. */
  adopt(name: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Returns which entries of a volume were created by restores and are no longer needed. */
export async function restoreLeftovers(
  names: readonly string[],
  statusOf: (operationId: string) => Promise<string | null>,
): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    const [, kind, operationId] = /^(before|restored)-([0-9a-f-]{36})/.exec(name) ?? [];
    if (kind === undefined || operationId === undefined) continue;
    const status = await statusOf(operationId);
    // Data from before a failed restore is kept, because it may be the only data of the service.
    const done = kind === 'before' ? ['succeeded'] : ['succeeded', 'failed'];
    if (status !== null && done.includes(status)) found.push(name);
  }
  return found;
}

/** Returns the record of a database server. Throws `ReleaseError` if it is gone or its volume is on another host. */
export async function serverOnHost(
  { db, hostId }: { db: Db; hostId: string },
  serviceId: string,
): Promise<DataServerRow> {
  const row = await findDataServer(db, serviceId);
  if (!row) throw new ReleaseError('the record of its server is gone');
  if (row.host_id !== null && row.host_id !== hostId) {
    throw new ReleaseError(`its volume is on another host (${row.host_id})`);
  }
  return row;
}
