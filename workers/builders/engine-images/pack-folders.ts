import { constants } from 'node:fs';
import { open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Headers, type Pack, pack } from 'tar-stream';
import { BuildError } from '../../failures/explained-errors.js';
import { createDockerignore, type PathFilter } from '../files/path-filter.js';
import { lstatOf } from '../files/project-files.js';

/** The content of a build context: folders of this host, and files that are generated for the build. */
export interface PackedContent {
  /** `at` is the folder's path in the context, '' for the root; `ignore` has the patterns of a .dockerignore. */
  folders: { at: string; path: string; ignore?: string[] }[];
  /** Path in the context → content. A file at the same path in one of the folders is left out. */
  files: Readonly<Record<string, string | { base64: string }>>;
}

/** The modification time of all files. It is fixed, so that the engine's layer cache depends only on their content. */
const MTIME = new Date(0);

/** Returns the content as a tar stream; see `packContext`. */
export function packFolders(content: PackedContent): Readable {
  const archive = pack();
  void fill(archive, content).catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  // The streams of tar-stream 3 are not Node.js streams, so they are wrapped.
  return Readable.from(archive, { objectMode: false });
}

async function fill(archive: Pack, { folders, files }: PackedContent): Promise<void> {
  for (const { at, path, ignore } of folders) {
    if (at !== '') await add(archive, { name: `${at}/`, type: 'directory', mode: 0o755 });
    const filter = ignore === undefined ? undefined : createDockerignore(ignore);
    await addFolder(archive, { root: path, at, filter, replaced: new Set(Object.keys(files)) }, '');
  }
  for (const [name, data] of Object.entries(files)) {
    await add(archive, { name, mode: 0o644 }, typeof data === 'string' ? data : Buffer.from(data.base64, 'base64'));
  }
  archive.finalize();
}

interface Folder {
  root: string;
  at: string;
  filter: PathFilter | undefined;
  replaced: ReadonlySet<string>;
}

async function addFolder(archive: Pack, folder: Folder, below: string): Promise<void> {
  const names = await readdir(join(folder.root, below));
  // Names are sorted by code unit, so that equal content gives equal archives on every host.
  for (const name of names.sort()) {
    const path = below === '' ? name : `${below}/${name}`;
    await addEntry(archive, folder, path);
  }
}

async function addEntry(archive: Pack, folder: Folder, path: string): Promise<void> {
  const source = join(folder.root, path);
  const name = folder.at === '' ? path : `${folder.at}/${path}`;
  const stat = await lstatOf(source, path);
  const kept = !folder.replaced.has(name) && (folder.filter?.(path) ?? true);
  if (stat.isDirectory()) {
    // An excluded folder is read too: a later pattern may include files in it again.
    if (kept) await add(archive, { name: `${name}/`, type: 'directory', mode: 0o755 });
    return addFolder(archive, folder, path);
  }
  if (!kept) return;
  if (stat.isSymbolicLink())
    return add(archive, { name, type: 'symlink', mode: 0o777, linkname: await readlink(source) });
  if (!stat.isFile()) throw new BuildError(`"${path}" is a socket, pipe or device; a build cannot have it; remove it`);
  await addFile(archive, source, { name, mode: (stat.mode & 0o111) !== 0 ? 0o755 : 0o644, size: stat.size });
}

async function addFile(archive: Pack, source: string, header: Headers): Promise<void> {
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

function add(archive: Pack, header: Headers, content?: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null) => (error ? reject(error) : resolve());
    if (content === undefined) archive.entry({ ...header, mtime: MTIME }, done);
    else archive.entry({ ...header, mtime: MTIME }, content, done);
  });
}
