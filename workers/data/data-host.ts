import type { DataServerRow } from '../../shared/data/store.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import type { ServerHealth } from './server-health.js';
import type { AdminAddress } from './settle-postgres.js';

/**
 * The data services of one host, which is a machine or a whole swarm: what jobs, sweeps and controllers do with them is the same
 * in both.
 */
export interface DataHost {
  /** As `data_servers.host_id` names it. */
  readonly hostId: string;
  readonly health: ServerHealth;
  /** The program of a release's server on this worker's host, which checks copies with it. Throws `ReleaseError`. */
  programOf(spec: ReleaseSpec): Promise<string>;
  /** The server's folder, if this worker's host can read it; null if everything has to be read through the server. */
  dataFolderOf(serviceId: string): string | null;
  /** How much the data of a server takes, without PostgreSQL's write-ahead log, in bytes; null if that cannot be measured now. */
  measure(row: DataServerRow, admin: AdminAddress | null): Promise<number | null>;
  /** Opens the volume of a service for work on its files; close it. Throws `ReleaseError` if it cannot be reached. */
  openVolume(serviceId: string): Promise<VolumeFiles>;
  /** Removes what is left of restores that have ended on this host's volumes, or on one of them. Returns how many folders. */
  removeRestoreLeftovers(statusOf: (operationId: string) => Promise<string | null>, only?: string): Promise<number>;
  /** Removes the volumes of deleted services. Returns how many. */
  removeVolumes(): Promise<number>;
}

/** The server's folder on its volume. */
export const DATA = 'data';

/** The files of a volume, wherever it is. Names are those of its top folder, or paths below. */
export interface VolumeFiles {
  names(): Promise<string[]>;
  /** Renames, and returns after that is on the disk. */
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Writes the marker that names the service, and returns after it is on the disk. */
  writeMarker(): Promise<void>;
  /** A folder of this worker's host in which a copy is unpacked and checked before `adopt` brings it to the volume. */
  stagingOf(name: string): string;
  /** Brings the checked folder `data` of a staging folder to the volume, below `name`, and returns after it is on the disk. */
  adopt(name: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** What restores leave on a volume that is not needed any more: its name, if the operation of this status needs it no more. */
export async function restoreLeftovers(
  names: readonly string[],
  statusOf: (operationId: string) => Promise<string | null>,
): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    const [, kind, operationId] = /^(before|restored)-([0-9a-f-]{36})/.exec(name) ?? [];
    if (kind === undefined || operationId === undefined) continue;
    const status = await statusOf(operationId);
    // The data before a restore that failed stays if it is still there: it may be all there is.
    const done = kind === 'before' ? ['succeeded'] : ['succeeded', 'failed'];
    if (status !== null && done.includes(status)) found.push(name);
  }
  return found;
}
