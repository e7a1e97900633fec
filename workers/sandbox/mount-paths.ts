import { lstat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { unlessAbsent } from '../../shared/core/exists.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { isBelow, type Mount, type Plan } from './sandbox-plan.js';

/** `layers` are the host's folders with the content of the mount, topmost first. */
interface Part {
  destination: string;
  layers: readonly string[];
}

/**
 * Throws `ReleaseError` if the mount path of a volume contains a symlink. The runtime follows symlinks when it mounts,
 * so a tenant could otherwise make a volume cover system files. No process of a tenant may be able to change the
 * folders in `mounts` and `root` before the container starts.
 */
export async function assertMountPaths(
  { volumes }: Pick<Plan, 'volumes'>,
  mounts: readonly Mount[],
  root: readonly string[],
): Promise<void> {
  const paths = volumes.map(({ path }) => path);
  const parts = [
    { destination: '/', layers: root },
    ...mounts
      .filter(({ destination }) => !paths.includes(destination))
      .map((mount) => ({ destination: mount.destination, layers: layersOf(mount) })),
  ];
  for (const path of paths) {
    const outer = paths.find((other) => other !== path && isBelow(path, other));
    if (outer !== undefined) throw refused(path, `it is in the volume at ${outer}`);
    await assertFolders(path, innermost(parts, path));
  }
}

async function assertFolders(path: string, { destination, layers }: Part): Promise<void> {
  const names = relative(destination, path).split('/');
  for (let depth = 0; depth <= names.length; depth += 1) {
    const way = names.slice(0, depth).join('/');
    for (const layer of layers) {
      const found = await unlessAbsent(lstat(join(layer, way)));
      if (found !== null && !found.isDirectory()) {
        throw refused(path, `${join(destination, way)} is a ${found.isSymbolicLink() ? 'link' : 'file'}`);
      }
    }
  }
}

function refused(path: string, why: string): ReleaseError {
  return new ReleaseError(
    `a volume cannot be mounted at ${path}: ${why}. Give the volume another mount path, or deploy a release that has folders there`,
  );
}

/** If several parts have the same mount path, the last one is on top. */
function innermost(parts: readonly Part[], path: string): Part {
  const around = parts.filter(({ destination }) => isBelow(path, destination));
  return around.reduce((best, part) => (part.destination.length >= best.destination.length ? part : best));
}

/** Returns nothing for kernel file systems, such as tmpfs and /proc. */
function layersOf({ type, source, options }: Mount): string[] {
  if (type === 'bind') return [source];
  return options.flatMap((option) => {
    const [, folders = ''] = /^(?:lowerdir|upperdir)=(.*)$/.exec(option) ?? [];
    return folders === '' ? [] : folders.split(':');
  });
}
