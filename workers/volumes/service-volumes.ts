import { mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import type { VolumeRow } from '../../shared/volumes/model.js';
import { listVolumes } from '../../shared/volumes/store.js';
import type { DiscardDeps } from '../core/remove-folders.js';
import { sweepEach } from '../core/sweep-each.js';
import { ReleaseError } from '../failures/explained-errors.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { Sandbox, SandboxVolume } from '../sandbox/sandbox.js';
import { CONTENT } from '../sandbox/volume-mounts.js';
import type { JobDeps } from '../worker-deps.js';
import { folderBytes } from './folder-bytes.js';
import { isHeld } from './holds.js';
import { VolumeFolder } from './volume-folder.js';
import { canMountImages, extendImage, hasImage, imageUsedBytes, makeImage } from './volume-image.js';
import { decideVolume, GIGABYTE, volumeState } from './volume-model.js';
import { ended, spawnInVolume, type VolumeContent } from './volume-program.js';
import { forgetVolume, recordMade, volumesToRemove } from './volume-store.js';

const MEASURE_MS = 60_000;

export type ServiceVolumesDeps = Pick<JobDeps, 'db'> & { config: Pick<Config, 'dataDir'>; log: DiscardDeps['log'] };

/** Prepares and measures the volumes of services on this host. */
export class ServiceVolumes {
  readonly #deps: ServiceVolumesDeps;
  /** A replica and a run must not create the same volume at the same time. */
  readonly #making = new Map<string, Promise<SandboxVolume>>();

  constructor(deps: ServiceVolumesDeps) {
    this.#deps = deps;
  }

  /**
   * Creates the volumes that a replica or run mounts. Throws `ReleaseError` if the replica or run must not be started.
   */
  async prepare(row: ReplicaRow, { level }: Pick<Sandbox, 'level'>): Promise<SandboxVolume[]> {
    if (row.run_id === null && row.volume_id === null) return [];
    const volumes = await listVolumes(this.#deps.db, row.service_id);
    if (volumes.length > 0 && (await isHeld(this.#deps.db, row.service_id))) {
      throw new ReleaseError('somebody works on its volumes');
    }
    if (volumes.length > 0 && level === 'none') {
      throw new ReleaseError(
        'this host runs commands without containers and mounts no volumes; install runc and conmon',
      );
    }
    const found: SandboxVolume[] = [];
    for (const volume of volumes) found.push(await this.#prepareOne(volume, row.run_id === null));
    return found;
  }

  /** Returns null if the usage is unknown. `pid` is a process that has the volume mounted. */
  async usedBytes(volume: Pick<VolumeRow, 'id' | 'service_id'>, pid: number | null): Promise<number | null> {
    const { folder, data } = this.folderOf(volume);
    if (!(await hasImage(folder))) return folderBytes(data);
    if (pid === null) return imageUsedBytes(folder);
    const { blocks, bfree, bsize } = await statfs(`/proc/${pid}/root${data}`);
    return (blocks - bfree) * bsize;
  }

  async bytesOnDisk(content: VolumeContent): Promise<number> {
    if (!(await hasImage(content.folder))) return folderBytes(join(content.folder, CONTENT));
    const child = await spawnInVolume(content, 'read', ['df', '-B1', '--output=used', '.'], ['ignore', 'pipe', 'pipe']);
    const [output] = await Promise.all([
      text(child.stdout as Readable),
      ended(child, 'df', AbortSignal.timeout(MEASURE_MS)),
    ]);
    return Number(output.trim().split('\n').at(-1));
  }

  folderOf({ id, service_id }: Pick<VolumeRow, 'id' | 'service_id'>): VolumeFolder {
    const { config, log } = this.#deps;
    return new VolumeFolder({ dataDir: config.dataDir, log }, id, service_id);
  }

  #prepareOne(volume: VolumeRow, exclusive: boolean): Promise<SandboxVolume> {
    const before: Promise<unknown> = this.#making.get(volume.id) ?? Promise.resolve();
    const made = before
      .catch(() => undefined)
      .then(() => this.#make(volume, exclusive))
      .finally(() => {
        if (this.#making.get(volume.id) === made) this.#making.delete(volume.id);
      });
    this.#making.set(volume.id, made);
    return made;
  }

  async #make(volume: VolumeRow, exclusive: boolean): Promise<SandboxVolume> {
    const { db, config } = this.#deps;
    const room = this.folderOf(volume);
    const bytes = volume.size_gb * GIGABYTE;
    const observed = {
      made: volume.measured_at !== null,
      marker: await room.marker(),
      hasImage: await hasImage(room.folder),
      hasContent: await exists(room.data),
      canMount: await canMountImages(config.dataDir),
    };
    const decision = decideVolume(observed, { serviceId: volume.service_id, name: volume.name });
    if (decision.type === 'refuse') throw new ReleaseError(decision.reason);
    await room.make();
    if (decision.type === 'makeImage') await makeImage(room.folder, bytes);
    if (decision.type === 'makeFolder') await mkdir(room.data, { recursive: true, mode: 0o755 });
    if (observed.marker === null) await room.writeMarker();
    if (!observed.made) await recordMade(db, volume.id);
    const isImage = decision.type === 'makeImage' || decision.type === 'useImage';
    if (!isImage && exclusive) await this.#assertNotFull(volume);
    const grows = isImage && (await this.#extend(room.folder, volume));
    return { folder: room.folder, path: volume.mount_path, exclusive, grows };
  }

  /** If the host has no room, the service starts with the old size. */
  #extend(folder: string, { id, size_gb: sizeGb }: VolumeRow): Promise<boolean> {
    return extendImage(folder, sizeGb * GIGABYTE).catch((error: unknown) => {
      this.#deps.log.warn({ volumeId: id }, `a volume did not grow: ${errorMessage(error)}`);
      return false;
    });
  }

  /**
   * Refuses to start a replica whose volume is too full. Used only for volumes without an image, because no file system
   * limits them. Runs are not checked, so that they can delete files.
   */
  async #assertNotFull(volume: VolumeRow): Promise<void> {
    const used = (await this.usedBytes(volume, null)) ?? 0;
    if (volumeState(used, volume.size_gb, false) !== 'full') return;
    throw new ReleaseError(
      `its volume ${volume.name} holds ${used} bytes, more than 110 % of its ${volume.size_gb} GB; make it larger, or delete files with rnv run`,
    );
  }
}

/** Removes the content of deleted volumes on this host. Returns how many. */
export async function removeDeletedVolumes(deps: ServiceVolumesDeps, hostId: string): Promise<number> {
  const rows = await volumesToRemove(deps.db, hostId, 'host');
  const rooms = new ServiceVolumes(deps);
  const failure = 'a deleted volume could not be removed, a sweep tries again';
  const facts = ({ id }: VolumeRow) => ({ volumeId: id });
  const removed = await sweepEach(rows, { log: deps.log, atOnce: 1, failure, facts }, async (row) => {
    await rooms.folderOf(row).remove();
    await forgetVolume(deps.db, row.id);
    return [row.id];
  });
  return removed.length;
}
