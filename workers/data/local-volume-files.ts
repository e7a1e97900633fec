import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runLimited } from '../../shared/core/run-limited.js';
import { type DiscardDeps, discardTree } from '../core/remove-folders.js';
import { renameDurably } from '../core/rename-durably.js';
import { TenantFolder } from '../volumes/tenant-folder.js';
import type { VolumeFolder } from '../volumes/volume-folder.js';
import { DATA, type VolumeFiles } from './data-host.js';

/** Opens a volume on this host. Creates its folder if it is missing, for example after a disk was replaced. */
export async function openLocalVolume(deps: DiscardDeps, volume: VolumeFolder): Promise<VolumeFiles> {
  const { folder } = volume;
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const pathOf = (name: string) => join(folder, name);
  return {
    names: () => readdir(folder),
    rename: (from, to) => renameDurably(pathOf(from), pathOf(to)),
    remove: (name) => discardTree(deps, pathOf(name)),
    writeMarker: () => volume.writeMarker(),
    // The staging folder is on the volume itself, so `adopt` need not copy anything.
    stagingOf: pathOf,
    adopt: async (name) => {
      // Follows no symlinks: a server of the tenant has checked the backup, and could have put a symlink there.
      const data = await TenantFolder.open(join(pathOf(name), DATA));
      await data.close();
      await runLimited('sync', process.platform === 'linux' ? ['-f', pathOf(name)] : []);
    },
    close: async () => undefined,
  };
}
