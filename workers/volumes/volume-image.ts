import { mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists, unlessAbsent } from '../../shared/core/exists.js';
import { isRunning, type ProcessIdentity } from '../../shared/core/process-identity.js';
import { runLimited } from '../../shared/core/run-limited.js';
import { removeTree } from '../core/remove-folders.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { diskRoom } from '../sandbox/disk-guard.js';
import { reserveOf } from '../sandbox/disk-model.js';
import { isRoot } from '../sandbox/service-users.js';
import { CONTENT, IMAGE } from '../sandbox/volume-mounts.js';
import { fileSystemBytes, fileSystemUsedBytes } from './volume-model.js';

/** No blocks are reserved for root, the journal is small, and free blocks stay allocated. */
const MAKE_FILE_SYSTEM = ['-q', '-F', '-m', '0', '-J', 'size=8', '-b', '4096', '-E', 'nodiscard'];
const OWN_MOUNTS = ['--mount', '--propagation', 'private'];
/** An end of the image that is smaller than a block stays unused. */
const BLOCK_BYTES = 4096;
const SUPERBLOCK_END = 2048;
const TRIAL_BYTES = 32_000_000;
const STAT_BLOCK_BYTES = 512;

let answer: Promise<boolean> | null = null;
let turn: Promise<void> = Promise.resolve();

/** Returns true if this host can mount file system images in private mount namespaces. */
export function canMountImages(dataDir: string): Promise<boolean> {
  answer ??= tryToMount(dataDir).catch(() => false);
  return answer;
}

async function tryToMount(dataDir: string): Promise<boolean> {
  if (process.platform !== 'linux' || !isRoot()) return false;
  await mkdir(join(dataDir, 'volumes'), { recursive: true, mode: 0o711 });
  const folder = await mkdtemp(join(dataDir, 'volumes', 'trial-'));
  try {
    await makeFileSystem(folder, TRIAL_BYTES);
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

/** Creates a volume's file system and allocates its disk space. Throws `ReleaseError` if there is not enough space. */
export async function makeImage(folder: string, bytes: number): Promise<void> {
  await makeFileSystem(folder, bytes, allocateInRoom);
}

async function makeFileSystem(folder: string, bytes: number, take = allocate): Promise<void> {
  const path = join(folder, IMAGE);
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  try {
    await take(fresh, bytes);
    await runLimited('mkfs.ext4', [...MAKE_FILE_SYSTEM, fresh]);
    await mkdir(join(folder, CONTENT), { recursive: true, mode: 0o700 });
    await rename(fresh, path);
  } finally {
    await rm(fresh, { force: true });
  }
}

/** Allocates the additional space of an enlarged volume. Returns true if the file system must still grow to use it. */
export async function extendImage(folder: string, bytes: number): Promise<boolean> {
  const path = join(folder, IMAGE);
  const size = (await stat(path)).size;
  if (size < bytes) await allocateInRoom(path, bytes);
  return Math.max(size, bytes) - (fileSystemBytes(await beginningOf(path)) ?? 0) >= BLOCK_BYTES;
}

/** Returns how many bytes are used in an image that is not mounted; null if that cannot be determined. */
export async function imageUsedBytes(folder: string): Promise<number | null> {
  return fileSystemUsedBytes(await beginningOf(join(folder, IMAGE)));
}

async function beginningOf(image: string): Promise<Buffer> {
  const file = await open(image, 'r');
  try {
    return (await file.read(Buffer.alloc(SUPERBLOCK_END), 0, SUPERBLOCK_END, 0)).buffer;
  } finally {
    await file.close();
  }
}

/** Grows a file system that is mounted in the mount namespace of `monitor`, a container's conmon. */
export async function growMounted(folder: string, monitor: ProcessIdentity): Promise<boolean> {
  const listed = await runLimited('losetup', ['-n', '-O', 'NAME', '-j', join(folder, IMAGE)]);
  const device = listed.stdout.trim();
  if (!/^\/dev\/loop\d+$/.test(device)) return false;
  try {
    await runLimited('losetup', ['-c', device]);
    const mounts = await open(`/proc/${monitor.pid}/ns/mnt`, 'r');
    try {
      // Another process with this pid may have a tenant's programs in its mount namespace. If the monitor is still
      // running, the opened namespace is its own.
      if (!(await isRunning(monitor))) return false;
      await runLimited('nsenter', [`--mount=/proc/${process.pid}/fd/${mounts.fd}`, 'resize2fs', device]);
      return true;
    } finally {
      await mounts.close();
    }
  } catch {
    return false;
  }
}

export function hasImage(folder: string): Promise<boolean> {
  return exists(join(folder, IMAGE));
}

async function allocate(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'a', 0o600);
  await file.close();
  try {
    await runLimited('fallocate', ['-l', String(bytes), path]);
  } catch (error) {
    throw noRoom(bytes, errorMessage(error));
  }
}

/** The calls run one after another, so that each call sees the space that earlier calls have taken. */
async function allocateInRoom(path: string, bytes: number): Promise<void> {
  const mine = turn.then(async () => {
    await assertRoom(path, bytes);
    await allocate(path, bytes);
  });
  turn = mine.catch(() => undefined);
  await mine;
}

async function assertRoom(path: string, bytes: number): Promise<void> {
  const [room, file] = await Promise.all([diskRoom(dirname(path)), unlessAbsent(stat(path))]);
  const kept = Math.round(reserveOf(room).bytes);
  if (room.freeBytes - (bytes - (file?.blocks ?? 0) * STAT_BLOCK_BYTES) >= kept) return;
  throw noRoom(bytes, `${room.freeBytes} are free, of which ${kept} are kept for the platform`);
}

function noRoom(bytes: number, why: string): ReleaseError {
  return new ReleaseError(`the host has no room for a volume of ${bytes} bytes: ${why}`);
}
