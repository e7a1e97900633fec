import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../folders.js';
import { startTimeOf } from '../sandbox/proc.js';

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

/** A folder that has no owner's mark yet says in its name whose it is. */
const NEW = /^new-(\d+)-([^-]*)-/;

/** Makes the folder of an attempt, this process's from the first moment: sweeps of other workers leave it alone. */
export async function openBuildFolder(dataDir: string, id: string): Promise<BuildFolder> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id)) throw new Error(`"${id}" cannot name a build`);
  const path = join(buildsFolder(dataDir), id);
  const app = join(path, 'app');
  const owner: Owner = { pid: process.pid, startedAt: await startTimeOf(process.pid) };
  const mark = `new-${owner.pid}-${encodeURIComponent(owner.startedAt ?? '')}`;
  const fresh = join(buildsFolder(dataDir), `${mark}-${id}`);
  await mkdir(fresh, { recursive: true, mode: 0o711 });
  await mkdir(join(fresh, 'app'), { mode: 0o700 });
  await writeFile(join(fresh, 'owner'), JSON.stringify(owner));
  await rename(fresh, path);
  return { path, app, remove: () => removeTree(path) };
}

/** Removes the folders of builds whose worker has died. */
export async function removeDeadBuilds(dataDir: string): Promise<void> {
  const folder = buildsFolder(dataDir);
  for (const id of await readdir(folder).catch(() => [])) {
    if (!(await isOwned(folder, id))) await removeTree(join(folder, id));
  }
}

async function isOwned(folder: string, id: string): Promise<boolean> {
  try {
    const owner = newOwner(id) ?? (JSON.parse(await readFile(join(folder, id, 'owner'), 'utf8')) as Owner);
    return (await startTimeOf(owner.pid)) === owner.startedAt;
  } catch {
    return false;
  }
}

function newOwner(id: string): Owner | null {
  const [, pid, startedAt] = NEW.exec(id) ?? [];
  return pid === undefined ? null : { pid: Number(pid), startedAt: decodeURIComponent(startedAt ?? '') || null };
}
