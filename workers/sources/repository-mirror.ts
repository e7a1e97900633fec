import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from '../core/file-lock.js';
import { removeTree, touch } from '../core/remove-folders.js';
import { replaceFile } from '../core/replace-file.js';
import { SourceError } from '../failures/explained-errors.js';
import type { Remote } from './checked-remote.js';
import type { Git, GitResult } from './git-command.js';
import { lastLine } from './git-failure.js';
import { JoinedRuns } from './joined-runs.js';
import type { FoundFile } from './repository-source.js';

/** A larger checkout is refused before any of its files is written. */
const MAX_CHECKOUT = { bytes: 2 * 1024 ** 3, files: 200_000 };
/** Each fetch adds a pack. Beyond this number, creating the mirror anew is faster. */
const MAX_PACKS = 200;
/** Commits whose checkout is within the limits. Commits never change, so one measurement is valid for every mirror. */
const measured = new Set<string>();
const MAX_MEASURED = 10_000;
const measuring = new JoinedRuns<void>();

/** Turns attributes off: conversions of line endings or encodings would make a checkout larger than measured. */
const NO_ATTRIBUTES = '* -text -eol -ident -filter -working-tree-encoding\n';

const MAX_MESSAGE_LENGTH = 64 * 1024;

type Place = Pick<Remote, 'url' | 'config'>;

/** This host's bare mirror of a repository. Callers that change it hold its lock; readers do not. */
export class Mirror {
  readonly #git: Git;
  readonly path: string;
  readonly signal: AbortSignal;

  constructor(git: Git, path: string, signal: AbortSignal) {
    this.#git = git;
    this.path = path;
    this.signal = signal;
  }

  until(signal: AbortSignal): Mirror {
    return new Mirror(this.#git, this.path, signal);
  }

  /** Runs `work` while no other caller on this host changes the mirror. Readers may continue. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return withFileLock(`${this.path}.lock`, this.signal, work);
  }

  /** Creates the mirror if it is missing, and replaces a mirror with too many packs. The caller must hold the lock. */
  async open(): Promise<void> {
    const packs = await this.#packs();
    if (packs === null || packs > MAX_PACKS) {
      await this.discard();
      const args = ['init', '-q', '--bare', '--template=', '--', this.path];
      await expectSuccess(this.#git.run({ args, signal: this.signal }));
    }
    await touch(this.path);
  }

  /** Deletes the mirror. The caller must hold the lock; concurrent readers fail with `MirrorDamaged`. */
  async discard(): Promise<void> {
    await removeTree(this.path, { signal: this.signal });
  }

  /** Returns the full id of the commit with this id or ref; null if the mirror does not have it. */
  async find(sha: string): Promise<string | null> {
    const { code, stdout } = await this.#run(['rev-parse', '-q', '--verify', '--end-of-options', `${sha}^{commit}`]);
    return code === 0 ? stdout.trim() : null;
  }

  /** Fetches one commit. The caller must hold the lock. */
  fetchCommit(from: Place, sha: string): Promise<GitResult> {
    return this.#fetch(['--depth=1'], from, [`+${sha}:refs/ranvier/${sha}`]);
  }

  /** Fetches the newest commit of a branch, which `newest` then returns. The caller must hold the lock. */
  fetchBranch(from: Place, branch: string): Promise<GitResult> {
    return this.#fetch(['--depth=1'], from, [`+refs/heads/${branch}:${nameOf(branch)}`]);
  }

  /** Returns the commit that `fetchBranch` fetched last. Throws `MirrorDamaged`. */
  async newest(branch: string): Promise<string> {
    const text = await readFile(join(this.path, nameOf(branch)), 'utf8').catch(() => '');
    const sha = text.trim();
    if (!/^[0-9a-f]{40}$/.test(sha)) throw new MirrorDamaged(`the copy has lost the branch ${branch}`);
    return sha;
  }

  /**
   * Fetches all branches and tags or, if given, only `pullRef`. Use this for servers that do not serve a commit by its
   * id. The caller must hold the lock.
   */
  fetchAll(from: Place, pullRef?: string): Promise<GitResult> {
    const all = ['+refs/heads/*:refs/ranvier/heads/*', '+refs/tags/*:refs/ranvier/tags/*'];
    return this.#fetch([], from, pullRef === undefined ? all : [`+${pullRef}:refs/ranvier/${pullRef}`]);
  }

  async subject(sha: string): Promise<string> {
    return (await this.#logged(sha, '%s')).trim();
  }

  async message(sha: string): Promise<string> {
    return (await this.#logged(sha, '%B')).slice(0, MAX_MESSAGE_LENGTH);
  }

  async #logged(sha: string, format: string): Promise<string> {
    const args = ['log', '--no-walk', `--format=${format}`, '--end-of-options', sha];
    return (await expectSuccess(this.#run(args))).stdout;
  }

  async file(sha: string, path: string, maxBytes: number): Promise<FoundFile> {
    const entry = await expectSuccess(this.#run(['ls-tree', '-l', '--end-of-options', sha, '--', path]));
    const [, id, size] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t/.exec(entry.stdout) ?? [];
    if (id === undefined) return { type: 'missing' };
    if (Number(size) > maxBytes) return { type: 'tooLarge' };
    return { type: 'found', text: (await expectSuccess(this.#run(['cat-file', 'blob', id]))).stdout };
  }

  async changedPaths(before: string, after: string): Promise<string[]> {
    const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--end-of-options', before, after];
    const { stdout } = await expectSuccess(this.#run(args));
    return stdout.split('\0').filter((path) => path !== '');
  }

  /** Starts to measure a commit's size in the background, before its checkout. The checkout reports any problem. */
  expectCheckout(sha: string): void {
    this.#measure(sha).catch(() => undefined);
  }

  /** Writes the commit's files into a folder. Throws `SourceError` if they are too many or too large. */
  async checkout(sha: string, directory: string): Promise<void> {
    await touch(this.path);
    await this.#measure(sha);
    await this.#ignoreAttributes();
    const index = `${this.path}.index.${randomUUID()}`;
    const env = { GIT_INDEX_FILE: index };
    try {
      await expectSuccess(this.#run([`--work-tree=${directory}`, 'read-tree', '--reset', '-u', sha], env));
    } finally {
      await rm(index, { force: true });
      await rm(`${index}.lock`, { force: true });
    }
  }

  /** `info/attributes` takes precedence over all other attribute files. */
  async #ignoreAttributes(): Promise<void> {
    const info = join(this.path, 'info');
    await mkdir(info, { recursive: true });
    await replaceFile(join(info, 'attributes'), NO_ATTRIBUTES, 0o644);
  }

  #measure(sha: string): Promise<void> {
    if (measured.has(sha)) return Promise.resolve();
    return measuring.join(`${this.path} ${sha}`, this.signal, (joint) => this.until(joint).#refuseBlowUp(sha));
  }

  async #refuseBlowUp(sha: string): Promise<void> {
    const args = [`--git-dir=${this.path}`, 'ls-tree', '-r', '-z', '--format=%(objectsize)', sha];
    const { files: most } = MAX_CHECKOUT;
    // A few nested tree objects can expand to billions of files, so the listing stops at a limit.
    const problem = `the commit has more than ${most} files, which is the most that can be deployed`;
    const atMost = { bytes: most * 16, records: most, problem };
    const { stdout } = await expectSuccess(this.#git.run({ args, signal: this.signal, atMost }));
    const bytes = stdout.split('\0').reduce((sum, size) => sum + (Number(size) || 0), 0);
    if (bytes > MAX_CHECKOUT.bytes) {
      const gib = (bytes / 1024 ** 3).toFixed(1);
      throw new SourceError(
        `the commit's files have ${gib} GiB; the most that can be deployed is ${MAX_CHECKOUT.bytes / 1024 ** 3} GiB`,
      );
    }
    if (measured.size >= MAX_MEASURED) measured.clear();
    measured.add(sha);
  }

  async #packs(): Promise<number | null> {
    try {
      await readFile(join(this.path, 'HEAD'));
      const names = await readdir(join(this.path, 'objects', 'pack'));
      return names.filter((name) => name.endsWith('.pack')).length;
    } catch {
      return null;
    }
  }

  async #fetch(options: string[], { url, config }: Place, refspecs: string[]): Promise<GitResult> {
    // A killed git process may have left this file. No running process uses it, because fetching requires the lock.
    await rm(join(this.path, 'shallow.lock'), { force: true });
    const args = ['fetch', '-q', ...options, '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance'];
    return this.#git.run({
      args: [`--git-dir=${this.path}`, ...args, '--', url, ...refspecs],
      config,
      signal: this.signal,
    });
  }

  #run(args: string[], env: Record<string, string> = {}): Promise<GitResult> {
    return this.#git.run({ args: [`--git-dir=${this.path}`, ...args], env, signal: this.signal });
  }
}

/** Makes git accept local repositories of other users. Git reads this setting only from a file. */
export async function prepareMirrors(mirrors: string): Promise<void> {
  const path = join(mirrors, 'gitconfig');
  if (await touch(path)) return;
  await mkdir(mirrors, { recursive: true, mode: 0o700 });
  await replaceFile(path, '[safe]\n\tdirectory = *\n');
}

/**
 * Returns a mirror's path. The address contains the password, so a caller with another password gets another mirror.
 */
export function mirrorPath(folder: string, address: string): string {
  return join(folder, createHash('sha256').update(address).digest('hex'));
}

/** The name is hashed, because a ref `a` and a ref `a/b` cannot both exist. */
function nameOf(branch: string): string {
  return `refs/ranvier/branches/${createHash('sha256').update(branch).digest('hex').slice(0, 40)}`;
}

/** Thrown if the mirror lacks an object or is damaged. */
export class MirrorDamaged extends Error {
  constructor(result: GitResult | string) {
    super(typeof result === 'string' ? result : lastLine(result));
    this.name = 'MirrorDamaged';
  }
}

async function expectSuccess(running: Promise<GitResult>): Promise<GitResult> {
  const result = await running;
  if (result.code !== 0) throw new MirrorDamaged(result);
  return result;
}
