import { chmod, chown, mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from '../../shared/core/log.js';
import { runLimited } from '../../shared/core/run-limited.js';
import { discardTree } from '../core/remove-folders.js';
import type { DetachedProcess, SandboxLevel, SandboxSpec } from './sandbox.js';
import { HOME_PATH, isBelow } from './sandbox-plan.js';
import { hasUsers, isRoot, ownDirectory } from './service-users.js';

const OWNER = 'owner';

interface Wanted extends Pick<SandboxSpec, 'directory' | 'image' | 'writable' | 'tools' | 'userNumber'> {
  uid: number;
  scratch: string;
  /** Null for a command that may outlive the worker. */
  owner: DetachedProcess | null;
  /** False if the image must be copied to `directory`. */
  mounted: boolean;
  dataDir: string;
  log: Logger;
  level: SandboxLevel;
}

/** Returns the folder to which an image is copied if it cannot be mounted. */
export function copiedImage(directory: string): string {
  return join(directory, 'files');
}

/** Creates a sandbox's private folder, and copies the image if it cannot be mounted. */
export async function prepareScratch(wanted: Wanted): Promise<{ directory: string; image: string | null }> {
  const { scratch, uid, level } = wanted;
  await discardTree(wanted, scratch);
  await mkdir(scratch, { recursive: true, mode: 0o711 });
  if (wanted.owner !== null) await writeFile(join(scratch, OWNER), JSON.stringify(wanted.owner), { mode: 0o600 });
  for (const name of ['home', 'tmp']) {
    const folder = join(scratch, name);
    await mkdir(folder, { mode: 0o700 });
    if (hasUsers(level)) await chown(folder, uid, uid);
  }
  const root = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n';
  await writeFile(join(scratch, 'passwd'), `${root}app:x:${uid}:${uid}:app:${HOME_PATH}:/bin/sh\n`);
  await writeFile(join(scratch, 'group'), `root:x:0:\nnogroup:x:65534:\napp:x:${uid}:\n`);
  const directory = await realpath(wanted.directory);
  const image = wanted.image === undefined ? null : await realpath(wanted.image);
  const found =
    image === null || wanted.mounted
      ? { directory, image }
      : { directory: await copyImage(wanted, image, directory), image: null };
  if (level === 'none' && isRoot()) {
    for (const path of [found.directory, join(scratch, 'home'), ...(wanted.writable ?? []), ...(wanted.tools ?? [])]) {
      await allowTraversal(wanted.dataDir, path);
    }
  }
  return found;
}

/** Returns the worker that this sandbox must not outlive; null if it may outlive every worker. */
export async function ownerOf(scratch: string): Promise<DetachedProcess | null> {
  const text = await readFile(join(scratch, OWNER), 'utf8').catch(() => '');
  return text === '' ? null : JSON.parse(text);
}

async function copyImage(wanted: Wanted, image: string, directory: string): Promise<string> {
  const target = copiedImage(directory);
  await discardTree(wanted, target);
  await mkdir(target, { recursive: true, mode: 0o700 });
  const reflink = process.platform === 'linux' ? ['--reflink=auto'] : [];
  await runLimited('cp', ['-a', ...reflink, '--', `${image}/.`, target]);
  await ownDirectory(target, wanted.userNumber);
  // `cp` has copied the image's mode, which lets all users in. Without mount namespaces, other users could read files
  // whose paths they guess.
  await chmod(target, 0o700);
  return target;
}

/** Lets other users traverse, but not list, the folders between DATA_DIR and a path. */
export async function allowTraversal(dataDir: string, path: string): Promise<void> {
  for (let folder = dirname(path); isBelow(folder, dataDir); folder = dirname(folder)) {
    const { mode } = await stat(folder);
    if ((mode & 0o001) === 0) await chmod(folder, mode | 0o011);
  }
}
