import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processStart } from '../../shared/core/process-identity.js';
import { type DiscardDeps, discardTree, exists, removeTree, touch } from '../folders.js';
import { ownDirectory } from '../sandbox/service-users.js';
import type { BuildContext, BuildRequest } from './builder.js';

/** The folder of one build: `app` holds the repository's files and becomes the image. */
export interface BuildFolder {
  path: string;
  app: string;
  remove(): Promise<void>;
}

interface Owner {
  pid: number;
  startedAt: string | null;
}

export function buildsFolder(dataDir: string): string {
  return join(dataDir, 'builds');
}

/** The name of a folder that is being made tells its owner's pid and start, in hex: the owner's file is not written yet. */
const NEW = /^new-(\d+)-([0-9a-f]*)-/;

/** The name of a build's folder until it has its owner's file. */
export function unfinishedName({ pid, startedAt }: Owner, id: string): string {
  return `new-${pid}-${Buffer.from(startedAt ?? '').toString('hex')}-${id}`;
}

/** Makes the folder of a build. It has an owner from the first moment, so that sweeps of other workers do not remove it. */
export async function openBuildFolder(dataDir: string, id: string): Promise<BuildFolder> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id)) throw new Error(`"${id}" cannot name a build`);
  const path = join(buildsFolder(dataDir), id);
  const app = join(path, 'app');
  const owner: Owner = { pid: process.pid, startedAt: await processStart(process.pid) };
  const fresh = join(buildsFolder(dataDir), unfinishedName(owner, id));
  await mkdir(fresh, { recursive: true, mode: 0o711 });
  await mkdir(join(fresh, 'app'), { mode: 0o700 });
  await writeFile(join(fresh, 'owner'), JSON.stringify(owner));
  await rename(fresh, path);
  return { path, app, remove: () => removeTree(path) };
}

/** Removes the folders of builds whose worker has died. */
export async function removeDeadBuilds(deps: DiscardDeps): Promise<void> {
  const folder = buildsFolder(deps.dataDir);
  for (const id of await readdir(folder).catch(() => [])) {
    if (!(await isOwned(folder, id))) await discardTree(deps, join(folder, id));
  }
}

async function isOwned(folder: string, id: string): Promise<boolean> {
  try {
    const owner = newOwner(id) ?? (JSON.parse(await readFile(join(folder, id, 'owner'), 'utf8')) as Owner);
    return (await processStart(owner.pid)) === owner.startedAt;
  } catch {
    return false;
  }
}

function newOwner(id: string): Owner | null {
  const [, pid, startedAt] = NEW.exec(id) ?? [];
  if (pid === undefined || startedAt === undefined) return null;
  return { pid: Number(pid), startedAt: Buffer.from(startedAt, 'hex').toString() || null };
}

export function cachesFolder(dataDir: string): string {
  return join(dataDir, 'caches');
}

/** The folder in which tools keep files for the next build of the same service. It is emptied if `clearCache` is set. */
export async function openCache(
  deps: DiscardDeps,
  { serviceId, clearCache, userNumber }: Pick<BuildRequest, 'serviceId' | 'clearCache' | 'userNumber'>,
  { log }: Pick<BuildContext, 'log'>,
): Promise<string> {
  const cache = join(cachesFolder(deps.dataDir), serviceId);
  if (clearCache) {
    await discardTree(deps, cache);
    await log('The build cache was emptied, because clearCache is set');
  }
  if (!(await exists(cache))) {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    await ownDirectory(cache, userNumber);
  }
  await touch(cache);
  return cache;
}
