import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict, invalidField } from '../core/error-registry.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { isScalable } from '../services/model.js';
import { planOf } from '../services/plan-catalog.js';
import type { ServiceRow } from '../services/rows.js';
import { NO_VOLUMES, noWorkerMountsVolumes } from '../workers/store.js';
import { MAX_VOLUMES, mountPathProblem, VOLUME_KINDS, type VolumeRow } from './model.js';
import {
  findVolume,
  insertVolume,
  isMounted,
  listVolumes,
  removeVolume,
  resizeVolume,
  type VolumeView,
} from './store.js';

type LockedService = Pick<ServiceRow, 'id' | 'kind' | 'lifecycle_status' | 'configuration'>;

/**
 * Adds a volume to a service. The next release mounts the volume. Throws `invalid_request`, `capacity_exceeded` or
 * `conflict`, and `volume_single_replica` if the service can have several replicas.
 */
export async function addVolume(
  trx: Transaction,
  service: LockedService,
  { name, mountPath, sizeGb }: { name: string; mountPath: string; sizeGb: number },
): Promise<VolumeView> {
  if (!VOLUME_KINDS.includes(service.kind)) {
    const kinds = VOLUME_KINDS.join(', ');
    throw new AppError('invalid_request', `A service of kind ${service.kind} has no volumes; only ${kinds} do`);
  }
  assertNotDeleting(service);
  const volumes = await listVolumes(trx, service.id);
  const paths = volumes.map((volume) => volume.mount_path);
  const problem = mountPathProblem(mountPath, paths);
  if (problem !== null) throw invalidField('mountPath', `${mountPath} ${problem}; choose another path, such as /data`);
  if (volumes.some((volume) => volume.name === name)) throw conflict(`The service has a volume "${name}"`);
  if (paths.includes(mountPath)) throw conflict(`The service has a volume at ${mountPath}`);
  if (volumes.length >= MAX_VOLUMES) {
    throw new AppError('capacity_exceeded', `The service has ${MAX_VOLUMES} volumes, the most there may be`);
  }
  assertFitsPlan([...volumes.map((volume) => volume.size_gb), sizeGb], service.configuration.plan);
  assertSingleReplica(service, service.configuration);
  if (await noWorkerMountsVolumes(trx)) throw conflict(`The service cannot have a volume: ${NO_VOLUMES}`);
  const id = uuidv7();
  await insertVolume(trx, { id, service_id: service.id, name, mount_path: mountPath, size_gb: sizeGb });
  return found(await findVolume(trx, service.id, id));
}

/** Increases the size of a volume. Throws not_found, invalid_request, capacity_exceeded, conflict. */
export async function growVolume(
  trx: Transaction,
  service: LockedService,
  volumeId: string,
  sizeGb: number,
): Promise<VolumeView> {
  const volume = found(await findVolume(trx, service.id, volumeId));
  assertNotDeleting(service);
  if (sizeGb < volume.size_gb) {
    throw invalidField('sizeGb', `cannot be less than the present ${volume.size_gb} GB: a volume only grows`);
  }
  if (sizeGb === volume.size_gb) return volume;
  const others = (await listVolumes(trx, service.id)).filter(({ id }) => id !== volumeId);
  assertFitsPlan([...others.map((other) => other.size_gb), sizeGb], service.configuration.plan);
  await resizeVolume(trx, volumeId, sizeGb);
  return { ...volume, size_gb: sizeGb };
}

/** Deletes a volume with its content. Throws volume_in_use while a replica or run has it mounted. */
export async function deleteVolume(trx: Transaction, { id, service_id, host_id }: VolumeRow): Promise<void> {
  if (host_id !== null && (await isMounted(trx, service_id))) throw new AppError('volume_in_use');
  await removeVolume(trx, id);
}

/** Throws volume_single_replica or capacity_exceeded if the service's volumes forbid the configuration. */
export async function assertFitsVolumes(
  trx: Transaction,
  service: Pick<ServiceRow, 'id' | 'kind'>,
  configuration: ServiceConfiguration,
): Promise<void> {
  if (!VOLUME_KINDS.includes(service.kind)) return;
  const volumes = await listVolumes(trx, service.id);
  if (volumes.length === 0) return;
  assertSingleReplica(service, configuration);
  assertFitsPlan(
    volumes.map((volume) => volume.size_gb),
    configuration.plan,
  );
}

/** Returns true if changes to these fields can conflict with the service's volumes. */
export function concernsVolumes(changes: Partial<ServiceConfiguration>): boolean {
  return (['plan', 'replicas', 'scaling', 'maxReplicas'] as const).some((field) => changes[field] !== undefined);
}

function assertSingleReplica({ kind }: Pick<ServiceRow, 'kind'>, configuration: ServiceConfiguration): void {
  const { scaling, replicas, maxReplicas } = configuration;
  const isAuto = scaling === 'auto' && isScalable(kind);
  const most = isAuto ? maxReplicas : replicas;
  if (most <= 1) return;
  const field = isAuto ? 'maxReplicas' : 'replicas';
  throw new AppError(
    'volume_single_replica',
    `A service with a volume has one replica; ${field} is ${most}: set it to 1`,
  );
}

function assertFitsPlan(sizes: readonly number[], planId: string): void {
  const { name, storageGb = 0 } = planOf(planId);
  const sum = sizes.reduce((total, size) => total + size, 0);
  if (sum <= storageGb) return;
  throw new AppError(
    'capacity_exceeded',
    `The plan ${name} has ${storageGb} GB for volumes, and these would take ${sum} GB; choose a larger plan or a smaller size`,
  );
}

function assertNotDeleting({ lifecycle_status }: Pick<ServiceRow, 'lifecycle_status'>): void {
  if (lifecycle_status === 'deleting') throw conflict('The service is being deleted');
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new AppError('not_found');
  return row;
}
