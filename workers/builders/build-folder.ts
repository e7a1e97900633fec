import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { validate as isUuid } from 'uuid';
import { exists } from '../../shared/core/exists.js';
import { identityOf, isRunning, type ProcessIdentity } from '../../shared/core/process-identity.js';
import { planOf } from '../../shared/services/plan-catalog.js';
import { type DiscardDeps, discardTree, removeTree, touch } from '../core/remove-folders.js';
import { ownByImages, ownDirectory } from '../sandbox/service-users.js';
import type { BuildContext, BuildRequest } from './builder.js';
import { dependenciesFolder } from './dependencies/kept-dependencies.js';
import { usedMb } from './files/folder-size.js';

/** The folder of one build: `app` holds the repository's files and becomes the image. */
export interface BuildFolder {
  path: string;
  app: string;
  remove(): Promise<void>;
}

export function buildsFolder(dataDir: string): string {
  return join(dataDir, 'builds');
}

/** Matches a build folder whose file `owner` is not written yet. Its name identifies the owning process instead. */
const NEW = /^new-(\d+)-([0-9a-f]*)-/;

/** Returns the name that a build folder has until its `owner` file is written. */
export function unfinishedName({ pid, startedAt }: ProcessIdentity, id: string): string {
  return `new-${pid}-${Buffer.from(startedAt).toString('hex')}-${id}`;
}

/** Creates the folder of a build. Its name or its file `owner` always identifies the worker, so no sweep removes it. */
export async function openBuildFolder(dataDir: string, id: string): Promise<BuildFolder> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id)) throw new Error(`"${id}" cannot name a build`);
  const path = join(buildsFolder(dataDir), id);
  const app = join(path, 'app');
  const owner = await identityOf(process.pid);
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
    const owner = newOwner(id) ?? (JSON.parse(await readFile(join(folder, id, 'owner'), 'utf8')) as ProcessIdentity);
    return await isRunning(owner);
  } catch {
    return false;
  }
}

function newOwner(id: string): ProcessIdentity | null {
  const [, pid, startedAt] = NEW.exec(id) ?? [];
  if (pid === undefined || startedAt === undefined) return null;
  return { pid: Number(pid), startedAt: Buffer.from(startedAt, 'hex').toString() };
}

type CacheOwner = Pick<BuildRequest, 'serviceId' | 'clearCache' | 'userNumber' | 'configuration'>;

function mostCacheMb(plan: string): number {
  return Math.max(MIN_CACHE_MB, (planOf(plan).storageGb ?? 0) * 1024);
}

/** Returns why a cache is too large; null if it is small enough or cannot be measured. */
async function oversize(cache: string, mostMb: number): Promise<string | null> {
  if ((await readdir(cache).catch(() => [])).length === 0) return null;
  const used = await usedMb(cache).catch(() => 0);
  if (used === null) return 'it had too many files';
  return used > mostMb ? `it had ${used} MB, and the plan allows ${mostMb} MB` : null;
}

const UUID_LENGTH = 36;

export function cachesFolder(dataDir: string): string {
  return join(dataDir, 'caches');
}

export function cacheFolder(dataDir: string, serviceId: string): string {
  return join(cachesFolder(dataDir), serviceId);
}

async function byService(folder: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const name of await readdir(folder).catch(() => [])) {
    const id = name.slice(0, UUID_LENGTH);
    if (isUuid(id)) found.set(id, [...(found.get(id) ?? []), join(folder, name)]);
  }
  return found;
}

/** Removes caches and kept dependencies of the services that `gone` returns. Returns the number of services. */
export async function removeCaches(
  dataDir: string,
  gone: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<number> {
  const places = await Promise.all([cachesFolder(dataDir), dependenciesFolder(dataDir)].map(byService));
  const ids = [...new Set(places.flatMap((place) => [...place.keys()]))];
  if (ids.length === 0) return 0;
  const found = await gone(ids);
  for (const id of found) for (const path of places.flatMap((place) => place.get(id) ?? [])) await removeTree(path);
  return found.size;
}

/** Every service may have a build cache of this size, even if its plan includes less storage. */
const MIN_CACHE_MB = 2048;

/** Opens the build cache of a service. Empties it first if `clearCache` is set, or if it is too large. */
export function openCache(deps: DiscardDeps, request: CacheOwner, context: Pick<BuildContext, 'log'>): Promise<string> {
  const own = (path: string) => ownDirectory(path, request.userNumber);
  return openFolder(deps, cacheFolder(deps.dataDir, request.serviceId), request, context, own);
}

/** Opens the cache for layers of a service's Dockerfile builds. Empties it as `openCache` does. */
export function openImageCache(
  deps: DiscardDeps,
  request: CacheOwner,
  context: Pick<BuildContext, 'log'>,
): Promise<string> {
  return openFolder(deps, `${cacheFolder(deps.dataDir, request.serviceId)}-images`, request, context, ownByImages);
}

async function openFolder(
  deps: DiscardDeps,
  cache: string,
  { clearCache, configuration }: CacheOwner,
  { log }: Pick<BuildContext, 'log'>,
  own: (path: string) => Promise<void>,
): Promise<string> {
  const reason = clearCache ? 'clearCache is set' : await oversize(cache, mostCacheMb(configuration.plan));
  if (reason !== null) {
    await discardTree(deps, cache);
    await log(`The build cache was emptied, because ${reason}`);
  }
  if (!(await exists(cache))) {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    await own(cache);
  }
  await touch(cache);
  return cache;
}
