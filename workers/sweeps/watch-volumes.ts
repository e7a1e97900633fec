import { errorMessage } from '../../shared/core/error-registry.js';
import { isRunning, type ProcessIdentity } from '../../shared/core/process-identity.js';
import type { VolumeRow } from '../../shared/volumes/model.js';
import { sweepEach } from '../core/sweep-each.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { replicasOfHost } from '../replicas/store.js';
import { processOf, sandboxIdOf } from '../runtime/process/replica-sandbox.js';
import { ServiceVolumes } from '../volumes/service-volumes.js';
import { extendImage, growMounted, hasImage } from '../volumes/volume-image.js';
import { GIGABYTE, type VolumeState, volumeState } from '../volumes/volume-model.js';
import { recordVolumeUsage, volumesOfHost } from '../volumes/volume-store.js';
import type { JobDeps } from '../worker-deps.js';

/** How many volumes are measured at the same time. A folder with many files takes long. */
const AT_ONCE = 4;

type Deps = Pick<JobDeps, 'db' | 'config' | 'log' | 'logs' | 'data' | 'backups'>;

/**
 * Measures this host's volumes, and enlarges mounted volumes whose configured size was raised. A plain folder has no
 * hard limit: once it uses 110 % of its size, the service's replica is killed.
 */
export async function watchVolumes(deps: Deps): Promise<string[]> {
  const { db, data } = deps;
  const volumes = await volumesOfHost(db, data.hostId);
  if (volumes.length === 0) return [];
  const replicas = await replicasOfHost(db, data.hostId);
  const failure = 'a volume was not measured';
  const facts = ({ id }: VolumeRow) => ({ volumeId: id });
  return sweepEach(volumes, { ...deps, atOnce: AT_ONCE, failure, facts }, (volume) => {
    const user = replicas.find(
      (row) => row.service_id === volume.service_id && row.volume_id !== null && row.pid !== null && row.pid > 0,
    );
    return watchVolume(deps, volume, user ?? null);
  });
}

async function watchVolume(deps: Deps, volume: VolumeRow, replica: ReplicaRow | null): Promise<string[]> {
  const { db, backups, logs } = deps;
  const rooms = new ServiceVolumes(deps);
  const hard = await hasImage(rooms.folderOf(volume).folder);
  const monitor = replica !== null && (await isRunning(processOf(replica))) ? processOf(replica) : null;
  if (hard && monitor !== null) await grow(deps, rooms, volume, monitor);
  const used = await rooms.usedBytes(volume, monitor?.pid ?? null);
  if (used === null) return [];
  const state = volumeState(used, volume.size_gb, hard);
  const isNews = await recordVolumeUsage(db, volume.id, used, state);
  if (state === 'full' && replica !== null) await backups.sandbox.endForRoom(sandboxIdOf(replica));
  if (!isNews || replica === null) return [];
  const { service_id: serviceId, name, size_gb: sizeGb } = volume;
  const about = { serviceId, deploymentId: replica.deployment_id };
  await logs.say(about, messageOf(state, name, sizeGb), state === 'open' ? 'info' : 'warn');
  return [`volume ${volume.id} is ${state} now (${used} bytes)`];
}

/** If growing a mounted volume fails, the volume grows when the service next starts. */
async function grow({ log }: Deps, rooms: ServiceVolumes, volume: VolumeRow, monitor: ProcessIdentity): Promise<void> {
  const { folder } = rooms.folderOf(volume);
  try {
    if (await extendImage(folder, volume.size_gb * GIGABYTE)) await growMounted(folder, monitor);
  } catch (error) {
    log.warn({ volumeId: volume.id }, `a volume did not grow: ${errorMessage(error)}`);
  }
}

function messageOf(state: VolumeState, name: string, sizeGb: number): string {
  if (state === 'open') return `The volume ${name} is less than 90 % full again`;
  if (state === 'nearly_full')
    return `The volume ${name} is 90 % full. Make it larger than ${sizeGb} GB, or delete files`;
  return `The volume ${name} holds more than 110 % of its ${sizeGb} GB: the service is stopped. Make it larger, or delete files with rnv run`;
}
