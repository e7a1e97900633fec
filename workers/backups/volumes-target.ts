import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BackupRow } from '../../shared/backups/model.js';
import { exists } from '../../shared/core/exists.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService } from '../../shared/services/store.js';
import type { VolumeRow } from '../../shared/volumes/model.js';
import { listVolumes } from '../../shared/volumes/store.js';
import type { VolumeFiles } from '../data/data-host.js';
import { openLocalVolume } from '../data/local-volume-files.js';
import type { DataAccessDeps } from '../data/server-access.js';
import { BackupError } from '../failures/explained-errors.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import { mountedReplicas, replicasOf } from '../replicas/store.js';
import { CONTENT, IMAGE } from '../sandbox/volume-mounts.js';
import { folderBytes } from '../volumes/folder-bytes.js';
import { whileStopped } from '../volumes/hold-service.js';
import { ServiceVolumes } from '../volumes/service-volumes.js';
import { canMountImages, hasImage, makeImage } from '../volumes/volume-image.js';
import { GIGABYTE, volumeState } from '../volumes/volume-model.js';
import { ownerOfVolumes } from '../volumes/volume-program.js';
import { recordMade, settleVolumes } from '../volumes/volume-store.js';
import { type TarReader, unpackVolume } from '../volumes/volume-tar.js';
import type { JobDeps } from '../worker-deps.js';
import { assertBelongs, openArchive } from './check-archive.js';
import { readVolumes } from './read-volumes.js';
import type { RestorePart, RestoreTarget } from './restore-target.js';
import { assertOnHost } from './volumes-source.js';
import { assertRoom } from './work-folders.js';

/** Maximum time for which a restore waits until no run uses the volumes, in milliseconds. */
const RUNS_WAIT_MS = 120_000;
const POLL_MS = 500;

interface Part extends RestorePart {
  volume: VolumeRow;
}

/** Opens the volumes of a service for a restore. The restore creates volumes that no release has mounted yet. */
export async function volumesTarget(deps: JobDeps & DataAccessDeps, service: ServiceRow): Promise<RestoreTarget> {
  const { db, keyring, config, data, log } = deps;
  await settleVolumes(db, service.id, data.hostId);
  const rooms = new ServiceVolumes(deps);
  const parts: Part[] = [];
  const volumes = await listVolumes(db, service.id);
  assertOnHost(volumes);
  for (const volume of volumes) {
    const room = rooms.folderOf(volume);
    const files = await openLocalVolume({ dataDir: config.dataDir, log }, room);
    const entry = await entryOf(room.folder, config.dataDir);
    parts.push({ volume, entry, files: entry === IMAGE ? withPoint(files, room.data) : files });
  }
  // The image of the live release, or else of the backup's service, determines which user owns the files.
  const ownerOf = async ({ service_id }: BackupRow) => {
    const live = service.live_deployment_id ?? (await getService(db, service_id))?.live_deployment_id;
    const { image } = await loadReleaseSpec(db, keyring, live ?? '');
    return ownerOfVolumes({ userNumber: service.user_number, image });
  };
  return {
    parts,
    async unpack(backup, fresh, _label, signal) {
      const images = parts.filter(({ entry }) => entry === IMAGE);
      const bytes = images.reduce((sum, { volume }) => sum + volume.size_gb * GIGABYTE, 0);
      await assertRoom(config.dataDir, Math.max(bytes, backup.data_bytes ?? 0), 'the restored volumes');
      const owner = await ownerOf(backup);
      const { content, key } = await openArchive(deps, backup, signal);
      const open = async (name: string): Promise<TarReader> => {
        const part = parts.find(({ volume }) => volume.name === name);
        if (part === undefined) {
          throw new BackupError(`the service has no volume ${name} any more; create it and restore again`);
        }
        return unpackVolume({ folder: await makeEmpty(part, fresh), ...owner }, signal);
      };
      assertBelongs(await readVolumes(content, { key, signal }, open), backup);
      for (const part of parts) await settle(part, fresh, signal);
    },
    async discard(fresh) {
      for (const { files } of parts) await files.remove(fresh);
    },
    whileStopped: (work) => whileStopped(deps, service.id, work, (lost) => runsEnded(deps, service.id, lost)),
    async isRunning() {
      // A cron service has processes only during its runs, so it counts as running even if it has none now.
      if (service.kind === 'cron') return true;
      const replicas = await replicasOf(db, service.live_deployment_id ?? '');
      return replicas.some(({ state, desired }) => state === 'ready' && desired === 'running');
    },
    async finish() {
      for (const { volume, files } of parts) {
        if (volume.measured_at === null && (await files.names()).length > 0) await recordMade(db, volume.id);
      }
    },
    close: async () => undefined,
  };
}

/** Makes `writeMarker` also create the mount point. It is missing if no release has mounted the volume yet. */
function withPoint(files: VolumeFiles, point: string): VolumeFiles {
  const writeMarker = async () => {
    await mkdir(point, { recursive: true, mode: 0o700 });
    await files.writeMarker();
  };
  return { ...files, writeMarker };
}

/** Returns the name of the entry to swap on a volume: the image of its file system, or the folder with its content. */
async function entryOf(folder: string, dataDir: string): Promise<string> {
  if (await hasImage(folder)) return IMAGE;
  return !(await exists(join(folder, CONTENT))) && (await canMountImages(dataDir)) ? IMAGE : CONTENT;
}

async function makeEmpty({ volume, files, entry }: Part, fresh: string): Promise<string> {
  const folder = files.stagingOf(fresh);
  await mkdir(folder, { mode: 0o700 });
  if (entry === IMAGE) await makeImage(folder, volume.size_gb * GIGABYTE);
  else await mkdir(join(folder, CONTENT), { mode: 0o755 });
  return folder;
}

/** Only this check limits the size of a volume that has no file system of its own. */
async function settle({ volume, files, entry }: Part, fresh: string, signal: AbortSignal): Promise<void> {
  if (!(await files.names()).includes(fresh)) return;
  if (entry === CONTENT) {
    const bytes = await folderBytes(join(files.stagingOf(fresh), CONTENT));
    if (volumeState(bytes, volume.size_gb, false) === 'full') {
      throw new BackupError(
        `the backup of volume ${volume.name} has more than its ${volume.size_gb} GB; make it larger`,
      );
    }
  }
  await files.adopt(fresh, signal);
}

/** Waits for the end of runs that use the volumes. No new run starts, because the restore holds the service. */
async function runsEnded({ db }: Pick<JobDeps, 'db'>, serviceId: string, lost: AbortSignal): Promise<void> {
  const deadline = Date.now() + RUNS_WAIT_MS;
  while ((await mountedReplicas(db, serviceId)).some(({ run_id }) => run_id !== null)) {
    if (Date.now() > deadline) throw new BackupError('a run uses its volumes; cancel it or wait for its end');
    await delay(POLL_MS, undefined, { signal: lost });
  }
}
