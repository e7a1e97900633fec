import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, readdir, readFile, readlink, realpath, rename, symlink, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { removeTree } from '../../core/remove-folders.js';
import { BuildError } from '../../failures/explained-errors.js';
import { isBelow } from '../../sandbox/sandbox-plan.js';
import { lstatOf } from '../files/project-files.js';
import { isFrameworkCache } from '../toolchains/framework-caches.js';

export interface SealOptions {
  limitBytes: number;
  /** The path of the folder in the build's sandbox. Absolute symbolic links into it are made relative. */
  seenAs: string;
}

export interface SealedTree {
  /** A sha256 over the sorted tree: paths, types, executable bits, link targets, contents. */
  digest: string;
  sizeBytes: number;
}

/** How many entries are processed at the same time. A folder can have very many entries. */
const BATCH = 32;
const READ_WHOLE = 1024 * 1024;
const MAX_ENTRIES = 1_000_000;

/**
 * Turns a folder into an image and returns its digest. Removes `.git` and build caches, sets modes, and breaks hard
 * links. Throws `BuildError` for content that no image may have. No process may still use the folder.
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
    // Paths are sorted by code unit, so that the order does not depend on a locale.
    this.#entries.sort((a, b) => (a.path < b.path ? -1 : 1));
    const hash = createHash('sha256');
    for (const { path, line } of this.#entries) hash.update(`${path}\0${line}\n`);
    return { digest: hash.digest('hex'), sizeBytes: this.#size };
  }

  async walk(folder: string): Promise<void> {
    const path = join(this.#root, folder);
    await chmod(path, 0o755);
    const names = await readdir(path);
    const folders: string[] = [];
    for (let i = 0; i < names.length; i += BATCH) {
      if (this.#entries.length > MAX_ENTRIES) {
        throw new BuildError(`the image has more than ${MAX_ENTRIES} files, which is the most that can be deployed`);
      }
      const batch = names.slice(i, i + BATCH).map((name) => join(folder, name));
      await Promise.all(batch.map((entry) => this.#visit(entry, folders)));
    }
    for (const inner of folders) await this.walk(inner);
  }

  async #visit(entry: string, folders: string[]): Promise<void> {
    const path = join(this.#root, entry);
    if (isLeftOut(entry)) return removeTree(path);
    const stat = await lstatOf(path, entry);
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
      throw new BuildError(
        `"${entry}" is a socket, pipe or device; an image can only have files, folders and links; remove it`,
      );
    }
  }

  async #checkLink(entry: string): Promise<string> {
    const path = join(this.#root, entry);
    let target = await readlink(path);
    if (target.startsWith('/') && isBelow(target, this.#options.seenAs)) {
      target = relative(dirname(entry), relative(this.#options.seenAs, target)) || '.';
      await unlink(path);
      await symlink(target, path);
    }
    const seems = resolve(dirname(path), target);
    const leads = target.startsWith('/') ? target : `${dirname(path)}/${target}`;
    if (!isBelow(seems, this.#root) || !isBelow(await existingEnd(leads), this.#root)) {
      throw new BuildError(
        `the symbolic link "${entry}" → "${target}" leads out of the folder; an image cannot have it, so remove the link or point it inside`,
      );
    }
    return target;
  }
}

/** Returns the real path of the longest existing part of a path. After a link, `..` is the parent of its target. */
async function existingEnd(path: string): Promise<string> {
  for (let prefix = path; prefix !== ''; prefix = prefix.slice(0, prefix.lastIndexOf('/'))) {
    const found = await realpath(prefix).catch(() => null);
    if (found !== null) return found;
  }
  return '/';
}

function isLeftOut(path: string): boolean {
  return /(^|\/)\.git$/.test(path) || isFrameworkCache(path);
}

/** Replaces a file with a copy of it, so that writing to another hard link does not change the image. */
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
  return new BuildError(
    `the image is larger than the ${Math.round(bytes / 1024 ** 3)} GB that the plan allows; make it smaller, or choose a larger plan`,
  );
}
