import { constants } from 'node:fs';
import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Header, type Pack, pack } from 'tar-stream';
import { BuildError } from '../builder.js';
import type { PathFilter } from '../path-filter.js';

/** What the engine gets to build from: folders of this host and files made for the build. */
export interface ContextContent {
  /** `at` is the place in the context, '' its top; `filter` decides about files by their path in the folder. */
  folders: { at: string; path: string; filter?: PathFilter }[];
  /** Paths in the context → contents. */
  files: Readonly<Record<string, string | Buffer>>;
}

/** So that nothing but content decides whether the engine finds a step in its cache. */
const MTIME = new Date(0);

/**
 * The context as a stream of tar, made while it is read. Links stay links, whatever they lead to; owners and times are
 * left out. Nobody may change the folders meanwhile. What cannot be packed ends the stream with a `BuildError`.
 */
export function packContext(content: ContextContent): Readable {
  const archive = pack();
  void fill(archive, content).catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  return archive;
}

async function fill(archive: Pack, { folders, files }: ContextContent): Promise<void> {
  for (const { at, path, filter } of folders) {
    if (at !== '') await add(archive, { name: `${at}/`, type: 'directory', mode: 0o755 });
    await addFolder(archive, { root: path, at, filter }, '');
  }
  for (const [name, data] of Object.entries(files)) await add(archive, { name, mode: 0o644 }, data);
  archive.finalize();
}

interface Folder {
  root: string;
  at: string;
  filter: PathFilter | undefined;
}

async function addFolder(archive: Pack, folder: Folder, below: string): Promise<void> {
  const names = await readdir(join(folder.root, below));
  // By code unit, so that equal content is packed equally everywhere.
  for (const name of names.sort()) {
    const path = below === '' ? name : `${below}/${name}`;
    await addEntry(archive, folder, path);
  }
}

async function addEntry(archive: Pack, folder: Folder, path: string): Promise<void> {
  const source = join(folder.root, path);
  const name = folder.at === '' ? path : `${folder.at}/${path}`;
  const stat = await lstat(source).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new BuildError(`the name of the file "${path}" is not UTF-8`);
    throw error;
  });
  const kept = folder.filter?.keeps(path) ?? true;
  if (stat.isDirectory()) {
    // A folder that is left out may hold files that a later pattern takes back; the engine makes their folders.
    if (kept) await add(archive, { name: `${name}/`, type: 'directory', mode: 0o755 });
    return addFolder(archive, folder, path);
  }
  if (!kept) return;
  if (stat.isSymbolicLink())
    return add(archive, { name, type: 'symlink', mode: 0o777, linkname: await readlink(source) });
  if (!stat.isFile()) throw new BuildError(`"${path}" is a socket, pipe or device; a build cannot have it`);
  await addFile(archive, source, { name, mode: (stat.mode & 0o111) !== 0 ? 0o755 : 0o644, size: stat.size });
}

async function addFile(archive: Pack, source: string, header: Header): Promise<void> {
  const file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    await new Promise<void>((resolve, reject) => {
      const entry = archive.entry({ ...header, mtime: MTIME }, (error) => (error ? reject(error) : resolve()));
      pipeline(file.createReadStream({ autoClose: false }), entry).catch(reject);
    });
  } finally {
    await file.close();
  }
}

function add(archive: Pack, header: Header, content?: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null) => (error ? reject(error) : resolve());
    if (content === undefined) archive.entry({ ...header, mtime: MTIME }, done);
    else archive.entry({ ...header, mtime: MTIME }, content, done);
  });
}
