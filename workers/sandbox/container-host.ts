import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, readlink, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, unlessAbsent } from '../../shared/core/exists.js';
import { runLimited } from '../../shared/core/run-limited.js';
import { removeTree } from '../core/remove-folders.js';
import { type CgroupRoots, limitsSwap } from './cgroup.js';
import { overlayFolders, overlayLayers } from './container-mounts.js';
import {
  type ContainerHost,
  HIDE_CANDIDATES,
  INIT_PATH,
  INSIDE,
  MAPPED_ROOT,
  OTHER_NAMES_PATH,
  USUAL_PATH,
  VARIABLES_PATH,
} from './sandbox-plan.js';
import { hostSeccomp } from './seccomp.js';
import { isRoot } from './service-users.js';
import { ENTER, INIT, PYTHON, RECORD, VARIABLES } from './shell-programs.js';
import { MOUNT_VOLUMES } from './volume-mounts.js';

/** Containers see only these folders of the host, read-only, unless an image is their root. */
const SYSTEM = ['bin', 'etc', 'lib', 'lib32', 'lib64', 'libx32', 'nix', 'opt', 'sbin', 'usr', 'var'];
/** Folders in the root that all containers share. They are mount points, or containers see them empty. */
const MADE = ['/dev', '/proc', '/sys', '/tmp', '/media', '/srv', INSIDE, ...HIDE_CANDIDATES];
/** Options of an overlay whose changes are discarded after use, best first. Old kernels do not support all of them. */
const OVERLAY_OPTIONS = [['metacopy=on', 'volatile'], ['volatile'], []];
const OVERLAY_OPTIONS_WITHOUT_ROOT = [['userxattr', 'volatile'], ['userxattr']];

/** The OCI runtimes that `OCI_RUNTIME=auto` looks for, best first. */
export const USUAL_RUNTIMES: readonly string[] = ['runc', 'crun'];

function programsFolder(dataDir: string): string {
  return join(dataDir, 'containers');
}

export async function writeInit(dataDir: string): Promise<string> {
  const path = join(programsFolder(dataDir), 'init');
  await mkdir(programsFolder(dataDir), { recursive: true });
  await replaceFile(path, INIT);
  return path;
}

/** Returns a `ContainerHost` for each installed OCI runtime; none if conmon is missing. */
export async function findContainers(
  dataDir: string,
  cgroups: CgroupRoots | null,
  runtimes: readonly string[],
): Promise<ContainerHost[]> {
  const conmon = await programPath('conmon');
  const found = (await Promise.all(runtimes.map(programPath))).filter((path) => path !== null);
  if (conmon === null || found.length === 0) return [];
  const folder = programsFolder(dataDir);
  const rootfs = join(folder, 'root');
  await mkdir(rootfs, { recursive: true });
  await chmod(rootfs, 0o755);
  const system = await prepareRoot(rootfs);
  const [record, enter, mountVolumes] = [join(folder, 'record'), join(folder, 'enter'), join(folder, 'mount-volumes')];
  await replaceFile(join(rootfs, INIT_PATH), INIT);
  await replaceFile(join(rootfs, VARIABLES_PATH), VARIABLES);
  await mkdir(join(rootfs, OTHER_NAMES_PATH), { recursive: true });
  await replaceFile(join(rootfs, OTHER_NAMES_PATH, 'python'), PYTHON);
  await replaceFile(record, RECORD);
  await replaceFile(enter, ENTER);
  await replaceFile(mountVolumes, MOUNT_VOLUMES);
  const [seccomp, overlayOptions, resolver, hasHosts, hasImageTools] = await Promise.all([
    hostSeccomp(),
    usableOverlay(folder),
    realpath('/etc/resolv.conf').catch(() => null),
    exists('/etc/hosts'),
    canRunImages(),
  ]);
  const swap = cgroups !== null && (await limitsSwap(cgroups));
  const programs = { conmon, rootfs, record, enter, mountVolumes };
  const shared = { ...programs, system, hasImageTools, seccomp, overlayOptions, limitsSwap: swap, resolver, hasHosts };
  return found.map((runtime) => ({ runtime, ...shared }));
}

async function canRunImages(): Promise<boolean> {
  if (!isRoot()) return false;
  const tools = await Promise.all(['skopeo', 'umoci', 'buildah'].map(programPath));
  if (tools.includes(null)) return false;
  return mkdir(MAPPED_ROOT, { recursive: true }).then(
    () => true,
    () => false,
  );
}

async function programPath(name: string): Promise<string | null> {
  for (const folder of USUAL_PATH) {
    if (await exists(join(folder, name))) return join(folder, name);
  }
  return null;
}

async function prepareRoot(rootfs: string): Promise<string[]> {
  const system: string[] = [];
  for (const path of MADE) await mkdir(join(rootfs, path), { recursive: true });
  for (const name of SYSTEM) {
    const info = await unlessAbsent(lstat(join('/', name)));
    if (info === null) continue;
    if (info.isSymbolicLink()) {
      const target = await readlink(join('/', name));
      await symlink(target, join(rootfs, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
    } else if (info.isDirectory()) {
      await mkdir(join(rootfs, name), { recursive: true });
      system.push(join('/', name));
    }
  }
  return system;
}

/** Replaces a file atomically, because a running shell reads its script piece by piece. */
async function replaceFile(path: string, text: string): Promise<void> {
  const candidate = `${path}.${randomUUID()}`;
  await writeFile(candidate, text, { mode: 0o755 });
  await chmod(candidate, 0o755);
  await rename(candidate, path).catch(async (error: unknown) => {
    await rm(candidate, { force: true });
    throw error;
  });
}

/** Returns the best options with which this kernel mounts an overlay below DATA_DIR. */
async function usableOverlay(parent: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(parent, 'overlay-'));
  const user = isRoot() ? [] : ['--user', '--map-root-user'];
  try {
    for (const [index, options] of (isRoot() ? OVERLAY_OPTIONS : OVERLAY_OPTIONS_WITHOUT_ROOT).entries()) {
      const directory = join(folder, String(index));
      for (const path of Object.values(overlayFolders(directory))) await mkdir(path, { recursive: true });
      const layers = overlayLayers({ overlayOptions: options }, parent, directory).join(',');
      const mount = ['mount', '-n', '-t', 'overlay', 'overlay', '-o', layers, folder];
      const argv = [...user, '--mount', '--propagation', 'private', ...mount];
      if ((await runLimited('unshare', argv).catch(() => null)) !== null) return options;
    }
    return [];
  } finally {
    await removeTree(folder);
  }
}
