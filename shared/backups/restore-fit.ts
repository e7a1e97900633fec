import { isDataKind, type ServiceKind } from '../services/model.js';

const GIGABYTE = 1024 ** 3;

export interface DataFacts {
  kind: ServiceKind;
  /** The major version of PostgreSQL; '' for services of other kinds. */
  version: string;
  /** Maximum size of the data in bytes; 0 for services that are not databases. */
  storageBytes: number;
  volumes: readonly { name: string; size_gb: number }[];
}

/**
 * Returns why a backup does not fit into a service, and what to do; null if it fits. `dataBytes` is the size of the
 * backup's data.
 */
export function restoreMisfit(from: DataFacts, to: DataFacts, dataBytes: number): string | null {
  if (isDataKind(from.kind) || isDataKind(to.kind)) {
    if (from.kind !== to.kind) return `The backup is of a service of kind ${from.kind}; this one is of kind ${to.kind}`;
    if (from.version !== to.version) {
      return `The backup was written by PostgreSQL ${from.version}, and the service has version ${to.version}; make it with version ${from.version}`;
    }
    if (dataBytes > to.storageBytes) {
      return `The backup has ${inGigabytes(dataBytes)} GB, and the plan of the service ${inGigabytes(to.storageBytes)} GB; choose a larger plan`;
    }
    return null;
  }
  for (const { name, size_gb: size } of from.volumes) {
    const own = to.volumes.find((volume) => volume.name === name);
    if (own === undefined) return `The service has no volume ${name}, which the backup has; create it`;
    if (own.size_gb < size) return `The volume ${name} has ${own.size_gb} GB, and that of the backup ${size} GB`;
  }
  return null;
}

function inGigabytes(bytes: number): string {
  return (bytes / GIGABYTE).toFixed(1);
}
