import { join } from 'node:path';
import type { ServiceRow } from '../../shared/services/rows.js';
import type { VolumeRow } from '../../shared/volumes/model.js';
import { listVolumes } from '../../shared/volumes/store.js';
import { BackupError } from '../failures/explained-errors.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import { ServiceVolumes } from '../volumes/service-volumes.js';
import { ownerOfVolumes } from '../volumes/volume-program.js';
import { packVolume } from '../volumes/volume-tar.js';
import type { JobDeps } from '../worker-deps.js';
import type { ArchiveWriter } from './backup-archive.js';
import type { BackupSource } from './backup-source.js';
import { whilePaused } from './pause-service.js';
import { makeFolder } from './work-folders.js';

/** A volume's tar stream is split into pieces: an entry for each file would make the manifest too large. */
const PIECE_BYTES = 8 * 1024 * 1024;
const DIGITS = 8;

export interface VolumeFacts {
  volumes: { name: string; pieces: number; usedBytes: number }[];
}

function pieceName(volume: string, number: number): string {
  return `${volume}/${String(number).padStart(DIGITS, '0')}`;
}

/** Parses the name of a piece into its volume and number. Throws `BackupError` for any other name. */
export function pieceOf(name: string): { volume: string; number: number } {
  const [, volume = '', digits = ''] = /^([a-z0-9-]+)\/(\d{8})$/.exec(name) ?? [];
  if (volume === '') throw new BackupError(`the archive holds ${name}, which is no part of a volume`);
  return { volume, number: Number(digits) };
}

/** Throws `BackupError` if one of the volumes is on a swarm node. A worker cannot read other nodes' volumes. */
export function assertOnHost(volumes: readonly Pick<VolumeRow, 'name' | 'node_name'>[]): void {
  const remote = volumes.find(({ node_name }) => node_name !== null);
  if (remote === undefined) return;
  throw new BackupError(
    `the volume ${remote.name} is on node ${remote.node_name} of a swarm, which backs up no volumes; copy its files there`,
  );
}

/** Opens the volumes of a service for a backup. They need not be mounted. Throws `BackupError` if there are none. */
export async function openVolumes(deps: JobDeps, service: ServiceRow): Promise<BackupSource> {
  const { db, keyring } = deps;
  const rooms = new ServiceVolumes(deps);
  // A volume that no release has mounted yet has no content.
  const all = await listVolumes(db, service.id);
  const volumes = all.filter((volume) => volume.measured_at !== null);
  assertOnHost(all);
  if (volumes.length === 0) throw new BackupError('the service has no volume with content; deploy it first');
  const owner = ownerOfVolumes(await loadReleaseSpec(db, keyring, service.live_deployment_id ?? ''));
  const contents = volumes.map((volume) => ({ volume, content: { folder: rooms.folderOf(volume).folder, ...owner } }));
  const sizes: number[] = [];
  for (const { content } of contents) sizes.push(await rooms.bytesOnDisk(content));
  return {
    kind: service.kind,
    version: '',
    bytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    // Holes in sparse files are not copied, so the copy is never larger than what the volumes occupy on the disk.
    maxBytes: Number.POSITIVE_INFINITY,
    unpacks: false,
    async copy({ archive, folder, pause, signal }) {
      await makeFolder(folder);
      const copyAll = async (either: AbortSignal) => {
        const copied: Copy[] = [];
        for (const [index, { volume, content }] of contents.entries()) {
          const listFile = join(folder, `skipped-${index}`);
          const packer = pieceWriter(archive, volume.name);
          const report = await packVolume(content, { listFile, signal: either }, (chunk) => packer.write(chunk));
          copied.push({ ...report, name: volume.name, pieces: await packer.end(), usedBytes: sizes[index] ?? 0 });
        }
        return copied;
      };
      const copied = pause
        ? await whilePaused({ db, sandbox: deps.backups.sandbox }, service.id, signal, copyAll)
        : await copyAll(signal);
      const facts: VolumeFacts = {
        volumes: copied.map(({ name, pieces, usedBytes }) => ({ name, pieces, usedBytes })),
      };
      return { facts, remarks: remarksOn(copied) };
    },
  };
}

type Copy = VolumeFacts['volumes'][number] & { changed: number; skipped: number };

function pieceWriter(archive: ArchiveWriter, volume: string) {
  const waiting = Buffer.allocUnsafe(PIECE_BYTES);
  let [length, pieces] = [0, 0];
  const flush = async () => {
    pieces += 1;
    // The archive may still use the bytes when this buffer is filled again, so copy them.
    const piece = Buffer.from(waiting.subarray(0, length));
    length = 0;
    await archive.addBytes(pieceName(volume, pieces), piece);
  };
  return {
    async write(chunk: Buffer): Promise<void> {
      for (let rest = chunk; rest.length > 0; ) {
        const count = rest.copy(waiting, length);
        length += count;
        rest = rest.subarray(count);
        if (length === PIECE_BYTES) await flush();
      }
    },
    /** Writes the last piece. Returns the number of pieces. */
    async end(): Promise<number> {
      if (length > 0) await flush();
      return pieces;
    },
  };
}

function remarksOn(copied: readonly Copy[]): string {
  const count = (of: 'changed' | 'skipped') => copied.reduce((sum, one) => sum + one[of], 0);
  const [changed, skipped] = [count('changed'), count('skipped')];
  return [
    ...(changed === 0 ? [] : [`${changed} files changed or vanished while they were copied`]),
    ...(skipped === 0 ? [] : [`${skipped} pipes, sockets and devices were left out`]),
  ].join('; ');
}
