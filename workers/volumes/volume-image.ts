import { mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import { runLimited } from '../../shared/core/run-limited.js';
import { removeTree } from '../core/remove-folders.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { isRoot } from '../sandbox/service-users.js';
import { CONTENT, IMAGE } from '../sandbox/volume-mounts.js';
import { fileSystemBytes } from './volume-model.js';

/** The file system: all of it is the tenant's, and its journal is small. Blocks that are free stay allocated in the image. */
const MAKE_FILE_SYSTEM = ['-q', '-F', '-m', '0', '-J', 'size=8', '-b', '4096', '-E', 'nodiscard'];
const OWN_MOUNTS = ['--mount', '--propagation', 'private'];
/** The block size of the file system: it may leave a smaller rest of the image unused. */
const BLOCK_BYTES = 4096;
const SUPERBLOCK_END = 2048;
const TRIAL_BYTES = 32_000_000;

let answer: Promise<boolean> | null = null;

/** Returns true if this host mounts images of file systems in private mount namespaces. It is tried once. */
export function canMountImages(dataDir: string): Promise<boolean> {
  answer ??= tryToMount(dataDir).catch(() => false);
  return answer;
}

async function tryToMount(dataDir: string): Promise<boolean> {
  if (process.platform !== 'linux' || !isRoot()) return false;
  await mkdir(join(dataDir, 'volumes'), { recursive: true, mode: 0o711 });
  const folder = await mkdtemp(join(dataDir, 'volumes', 'trial-'));
  try {
    await makeImage(folder, TRIAL_BYTES);
    const script = 'mount -n -o loop "$1" "$2" && flock "$2" losetup -j "$1" && e2fsck -V';
    const argv = ['/bin/sh', '-c', script, 'trial', join(folder, IMAGE), join(folder, CONTENT)];
    await runLimited('unshare', [...OWN_MOUNTS, ...argv]);
    return true;
  } catch {
    return false;
  } finally {
    await removeTree(folder);
  }
}

/** Makes the file system of a volume. Its room on the disk is allocated at once. Throws `ReleaseError` if there is not enough. */
export async function makeImage(folder: string, bytes: number): Promise<void> {
  const path = join(folder, IMAGE);
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  try {
    await allocate(fresh, bytes);
    await runLimited('mkfs.ext4', [...MAKE_FILE_SYSTEM, fresh]);
    await mkdir(join(folder, CONTENT), { recursive: true, mode: 0o700 });
    await rename(fresh, path);
  } finally {
    await rm(fresh, { force: true });
  }
}

/** Allocates the bytes of a larger volume. Returns true if the file system has yet to grow to them. */
export async function extendImage(folder: string, bytes: number): Promise<boolean> {
  const path = join(folder, IMAGE);
  const size = (await stat(path)).size;
  if (size < bytes) await allocate(path, bytes);
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(SUPERBLOCK_END), 0, SUPERBLOCK_END, 0);
    return Math.max(size, bytes) - (fileSystemBytes(buffer) ?? 0) >= BLOCK_BYTES;
  } finally {
    await file.close();
  }
}

/**
 * Grows a file system while the process `pid` has it mounted. Returns false if this host can only grow it when it is not mounted, which the
 * next start of the service does.
 */
export async function growMounted(folder: string, pid: number): Promise<boolean> {
  const listed = await runLimited('losetup', ['-n', '-O', 'NAME', '-j', join(folder, IMAGE)]);
  const device = listed.stdout.trim();
  if (!/^\/dev\/loop\d+$/.test(device)) return false;
  try {
    await runLimited('losetup', ['-c', device]);
    await runLimited('nsenter', ['-t', String(pid), '--mount', 'resize2fs', device]);
    return true;
  } catch {
    return false;
  }
}

/** Returns true if the volume is an image. */
export function hasImage(folder: string): Promise<boolean> {
  return exists(join(folder, IMAGE));
}

async function allocate(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'a', 0o600);
  await file.close();
  try {
    await runLimited('fallocate', ['-l', String(bytes), path]);
  } catch (error) {
    throw new ReleaseError(`the host has no room for a volume of ${bytes} bytes: ${errorMessage(error)}`);
  }
}
