import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, lstat, readdir, readFile, readlink, realpath, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { isBelow } from '../sandbox/plan.js';
import { BuildError } from './builder.js';

export interface SealOptions {
  /** The content may not be larger. */
  limitBytes: number;
  /** Where the commands of the build saw `root`: absolute links to it are made relative. */
  seenAs: string;
  signal: AbortSignal;
}

export interface SealedTree {
  /** sha256 over the sorted tree: paths, types, executable bits, link targets, contents. */
  digest: string;
  sizeBytes: number;
}

/** Entries that are worked on at a time; the names of a folder can be many. */
const BATCH = 32;
const READ_WHOLE = 1024 * 1024;

/**
 * Makes a folder that a stranger's commands have filled fit to be an image, and gives its digest. Repository data and
 * build caches are removed; modes become 0755 or 0644; hard links to elsewhere are broken. Throws `BuildError` for links
 * that lead out, for files that are none, and for content beyond the limit. No process may work in the folder any more.
 */
export async function sealTree(folder: string, options: SealOptions): Promise<SealedTree> {
  const seal = new Seal(await realpath(folder), options);
  await seal.walk('');
  return seal.result();
}

class Seal {
  readonly #root: string;
  readonly #options: SealOptions;
  readonly #entries: { path: string; line: string }[] = [];
  #size = 0;

  constructor(root: string, options: SealOptions) {
    this.#root = root;
    this.#options = options;
  }

  result(): SealedTree {
    // By code unit: the order depends on no locale.
    this.#entries.sort((a, b) => (a.path < b.path ? -1 : 1));
    const hash = createHash('sha256');
    for (const { path, line } of this.#entries) hash.update(`${path}\0${line}\n`);
    return { digest: hash.digest('hex'), sizeBytes: this.#size };
  }

  async walk(folder: string): Promise<void> {
    this.#options.signal.throwIfAborted();
    const path = join(this.#root, folder);
    await chmod(path, 0o755);
    const names = await readdir(path);
    const folders: string[] = [];
    for (let i = 0; i < names.length; i += BATCH) {
      this.#options.signal.throwIfAborted();
      const batch = names.slice(i, i + BATCH).map((name) => join(folder, name));
      await Promise.all(batch.map((entry) => this.#visit(entry, folders)));
    }
    for (const inner of folders) await this.walk(inner);
  }

  async #visit(entry: string, folders: string[]): Promise<void> {
    const path = join(this.#root, entry);
    if (isLeftOut(entry)) return rm(path, { recursive: true, force: true });
    const stat = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENAMETOOLONG') throw new BuildError(`a path is too long: "${entry.slice(0, 100)}…"`);
      if (error.code === 'ENOENT') throw new BuildError(`the name of the file "${entry}" is not UTF-8`);
      throw error;
    });
    if (stat.isDirectory()) {
      this.#entries.push({ path: entry, line: 'folder' });
      folders.push(entry);
    } else if (stat.isSymbolicLink()) {
      this.#entries.push({ path: entry, line: `link ${await this.#checkLink(entry)}` });
    } else if (stat.isFile()) {
      this.#size += stat.size;
      if (this.#size > this.#options.limitBytes) throw tooLarge(this.#options.limitBytes);
      const executable = (stat.mode & 0o111) !== 0;
      await chmod(path, executable ? 0o755 : 0o644);
      if (stat.nlink > 1) await breakLink(path);
      this.#entries.push({
        path: entry,
        line: `${executable ? 'program' : 'file'} ${await hashFile(path, stat.size)}`,
      });
    } else {
      throw new BuildError(`"${entry}" is a socket, pipe or device; an image can only have files, folders and links`);
    }
  }

  async #checkLink(entry: string): Promise<string> {
    const path = join(this.#root, entry);
    let target = await readlink(path);
    if (target.startsWith('/') && isBelow(target, this.#options.seenAs)) {
      target = relative(dirname(entry), relative(this.#options.seenAs, target)) || '.';
      await rm(path);
      await symlink(target, path);
    }
    const seems = resolve(dirname(path), target);
    const leads = target.startsWith('/') ? target : `${dirname(path)}/${target}`;
    if (!isBelow(seems, this.#root) || !isBelow(await existingEnd(leads), this.#root)) {
      throw new BuildError(
        `the symbolic link "${entry}" → "${target}" leads out of the folder; an image cannot have it`,
      );
    }
    return target;
  }
}

/**
 * Where a path leads as far as it exists. It is not normalised: a folder on the way may be a link, and `..` then means the
 * parent of what that leads to.
 */
async function existingEnd(path: string): Promise<string> {
  for (let prefix = path; prefix !== ''; prefix = prefix.slice(0, prefix.lastIndexOf('/'))) {
    const found = await realpath(prefix).catch(() => null);
    if (found !== null) return found;
  }
  return '/';
}

function isLeftOut(path: string): boolean {
  return /(^|\/)(\.git|node_modules\/\.cache|\.next\/cache)$/.test(path);
}

/** A file that has another name elsewhere could be changed through it. */
async function breakLink(path: string): Promise<void> {
  const copy = `${path}.${randomUUID()}`;
  await copyFile(path, copy);
  await rename(copy, path);
}

async function hashFile(path: string, size: number): Promise<string> {
  const hash = createHash('sha256');
  if (size <= READ_WHOLE) hash.update(await readFile(path));
  else for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function tooLarge(bytes: number): BuildError {
  return new BuildError(`the image is larger than the ${Math.round(bytes / 1024 ** 3)} GB that the plan allows`);
}
