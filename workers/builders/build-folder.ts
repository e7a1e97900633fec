import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTimeOf } from '../sandbox/proc.js';

const run = promisify(execFile);

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

/** Makes the folder of an attempt and marks it as this process's. */
export async function openBuildFolder(dataDir: string, id: string): Promise<BuildFolder> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id)) throw new Error(`"${id}" cannot name a build`);
  const path = join(buildsFolder(dataDir), id);
  const app = join(path, 'app');
  const owner: Owner = { pid: process.pid, startedAt: await startTimeOf(process.pid) };
  await mkdir(path, { recursive: true, mode: 0o711 });
  await writeFile(join(path, 'owner'), JSON.stringify(owner));
  await mkdir(app, { mode: 0o700 });
  return { path, app, remove: () => removeTree(path) };
}

/** Removes the folders of builds whose worker has died. */
export async function removeDeadBuilds(dataDir: string): Promise<void> {
  const folder = buildsFolder(dataDir);
  for (const id of await readdir(folder).catch(() => [])) {
    const path = join(folder, id);
    if (!(await isOwned(path))) await removeTree(path);
  }
}

/** Node's own removal fails on paths that are longer than the kernel takes at once; a stranger can make those. */
async function removeTree(path: string): Promise<void> {
  await run('rm', ['-rf', '--', path]);
}

async function isOwned(path: string): Promise<boolean> {
  try {
    const { pid, startedAt } = JSON.parse(await readFile(join(path, 'owner'), 'utf8')) as Owner;
    return (await startTimeOf(pid)) === startedAt;
  } catch {
    return false;
  }
}
