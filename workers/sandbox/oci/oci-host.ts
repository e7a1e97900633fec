import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, readlink, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, unlessAbsent } from '../../../shared/core/exists.js';
import { runLimited } from '../../../shared/core/run-limited.js';
import { removeTree } from '../../core/folders.js';
import type { CgroupRoots } from '../cgroup.js';
import { HIDE_CANDIDATES, INSIDE, USUAL_PATH } from '../sandbox-plan.js';
import { overlayFolders, overlayLayers } from './mounts.js';
import { INIT_PATH, MAPPED_ROOT, type OciHost } from './oci-model.js';
import { ENTER, INIT, RECORD } from './scripts.js';
import { hostSeccomp } from './seccomp.js';

/** The folders of the host's system that every container sees, read only. Nothing else of the host is in a container. */
const SYSTEM = ['bin', 'etc', 'lib', 'lib32', 'lib64', 'libx32', 'nix', 'opt', 'sbin', 'usr', 'var'];
/** Folders that are empty or made for each container. */
const MADE = [
  'dev',
  'proc',
  'sys',
  'tmp',
  'media',
  'srv',
  INSIDE.slice(1),
  ...HIDE_CANDIDATES.map((path) => path.slice(1)),
];
/** Options of an overlay whose changes end with the container, the best first. Old kernels do not know all of them. */
const OVERLAY_OPTIONS = [['metacopy=on', 'volatile'], ['volatile'], []];

/** The runtimes that `OCI_RUNTIME=auto` looks for, the best first. */
export const USUAL_RUNTIMES: readonly string[] = ['runc', 'crun'];

/**
 * Finds the programs and prepares the root of containers below DATA_DIR. Returns what there is for each of the runtimes that is installed;
 * nothing if conmon is not.
 */
export async function findOci(dataDir: string, cgroups: CgroupRoots, runtimes: readonly string[]): Promise<OciHost[]> {
  const conmon = await programPath('conmon');
  const found = (await Promise.all(runtimes.map(programPath))).filter((path) => path !== null);
  if (conmon === null || found.length === 0) return [];
  const folder = join(dataDir, 'containers');
  const rootfs = join(folder, 'root');
  await mkdir(rootfs, { recursive: true });
  await chmod(rootfs, 0o755);
  const system = await prepareRoot(rootfs);
  await replaceFile(join(rootfs, INIT_PATH), INIT);
  const record = join(folder, 'record');
  await replaceFile(record, RECORD);
  const enter = join(folder, 'enter');
  await replaceFile(enter, ENTER);
  const hasMappedRoot = await mkdir(MAPPED_ROOT, { recursive: true }).then(
    () => true,
    () => false,
  );
  const swap = cgroups.version === 1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max';
  const tools = await Promise.all(['skopeo', 'umoci', 'buildah'].map(programPath));
  const hasImageTools = hasMappedRoot && tools.every((path) => path !== null);
  const [seccomp, overlayOptions, limitsSwap, hasHosts] = await Promise.all([
    hostSeccomp(),
    usableOverlay(folder),
    exists(join(cgroups.memory, swap)),
    exists('/etc/hosts'),
  ]);
  const resolver = await realpath('/etc/resolv.conf').catch(() => null);
  const shared = {
    conmon,
    rootfs,
    record,
    enter,
    system,
    hasImageTools,
    seccomp,
    overlayOptions,
    limitsSwap,
    resolver,
    hasHosts,
    cgroupsPath: cgroups.runtimePath,
  };
  return found.map((runtime) => ({ runtime, ...shared }));
}

/** The path of a program; null if the host does not have it. */
async function programPath(name: string): Promise<string | null> {
  for (const folder of USUAL_PATH) {
    if (await exists(join(folder, name))) return join(folder, name);
  }
  return null;
}

/** Makes the folders and links of the root. Returns the folders of the system that are to be mounted. */
async function prepareRoot(rootfs: string): Promise<string[]> {
  const system: string[] = [];
  for (const name of MADE) await mkdir(join(rootfs, name), { recursive: true });
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

/** A shell reads its program as it goes, so a file that one may be reading is replaced as a whole. */
async function replaceFile(path: string, text: string): Promise<void> {
  const candidate = `${path}.${randomUUID()}`;
  await writeFile(candidate, text, { mode: 0o755 });
  await chmod(candidate, 0o755);
  await rename(candidate, path).catch(async (error: unknown) => {
    await rm(candidate, { force: true });
    throw error;
  });
}

/** The best options with which this kernel mounts an overlay below DATA_DIR. */
async function usableOverlay(parent: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(parent, 'overlay-'));
  try {
    for (const [index, options] of OVERLAY_OPTIONS.entries()) {
      const directory = join(folder, String(index));
      for (const path of Object.values(overlayFolders(directory))) await mkdir(path, { recursive: true });
      const layers = overlayLayers({ overlayOptions: options }, parent, directory).join(',');
      const mount = ['mount', '-n', '-t', 'overlay', 'overlay', '-o', layers, INSIDE];
      const tried = await runLimited('unshare', ['--mount', '--propagation', 'private', ...mount]).catch(() => null);
      if (tried !== null) return options;
    }
    return [];
  } finally {
    await removeTree(folder);
  }
}
