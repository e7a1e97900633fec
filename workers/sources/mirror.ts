import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree, touch } from '../folders.js';
import type { Git, GitResult } from './git-command.js';
import { lastLine } from './git-failure.js';
import { withFileLock } from './mirror-lock.js';
import { SourceError } from './repository-source.js';

/** A larger checkout is refused before any file of it is written. */
export const LARGEST_CHECKOUT = { bytes: 2 * 1024 ** 3, files: 200_000 };
/** Each fetch adds a pack. With more packs, a new copy is faster. */
const MOST_PACKS = 200;

/** Runs `work` with this host's bare copy of a repository, while no other caller uses it. */
export async function withMirror<T>(
  git: Git,
  folder: string,
  address: string,
  signal: AbortSignal,
  work: (mirror: Mirror) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // The hash of the whole address, so that a copy made with one password is not used with another one.
  const path = join(folder, createHash('sha256').update(address).digest('hex'));
  return withFileLock(`${path}.lock`, signal, () => work(new Mirror(git, path, signal)));
}

/** A bare repository with the commits that were fetched, each without its history. */
export class Mirror {
  readonly #git: Git;
  readonly #path: string;
  readonly #signal: AbortSignal;

  constructor(git: Git, path: string, signal: AbortSignal) {
    this.#git = git;
    this.#path = path;
    this.#signal = signal;
  }

  /** Creates the repository if there is none. One that is damaged or has too many packs is replaced. */
  async open(): Promise<void> {
    const counted = await this.#run(['count-objects', '-v']);
    const packs = Number(/^packs: (\d+)$/m.exec(counted.stdout)?.[1] ?? Number.POSITIVE_INFINITY);
    if (counted.code !== 0 || packs > MOST_PACKS) {
      await this.discard();
      await expectSuccess(
        this.#git.run({ args: ['init', '-q', '--bare', '--template=', '--', this.#path], signal: this.#signal }),
      );
    }
    await touch(this.#path);
  }

  async discard(): Promise<void> {
    await removeTree(this.#path, { signal: this.#signal });
  }

  /** The commit of a name or number in this copy; null if it has none. */
  async find(sha: string): Promise<string | null> {
    const { code, stdout } = await this.#run(['rev-parse', '-q', '--verify', '--end-of-options', `${sha}^{commit}`]);
    return code === 0 ? stdout.trim() : null;
  }

  /** Fetches one commit. Returns git's result: a failure may be the server's, or that of this copy. */
  async fetchCommit(url: string, config: readonly (readonly [string, string])[], sha: string): Promise<GitResult> {
    return this.#fetch(['--depth=1'], url, config, [`+${sha}:refs/ranvier/${sha}`]);
  }

  /** Fetches all branches and tags, for servers that give no commit by its number. */
  async fetchAll(url: string, config: readonly (readonly [string, string])[]): Promise<GitResult> {
    return this.#fetch([], url, config, ['+refs/heads/*:refs/ranvier/heads/*', '+refs/tags/*:refs/ranvier/tags/*']);
  }

  async subject(sha: string): Promise<string> {
    const { stdout } = await expectSuccess(this.#run(['log', '-1', '--format=%s', '--end-of-options', sha]));
    return stdout.trim();
  }

  /** Writes the commit's files into a folder. Throws `SourceError` if they are too many or too large. */
  async checkout(sha: string, directory: string): Promise<void> {
    await this.#refuseBlowUp(sha);
    const index = `${this.#path}.index.${randomUUID()}`;
    const env = { GIT_INDEX_FILE: index };
    try {
      await expectSuccess(this.#run(['read-tree', sha], env));
      await expectSuccess(this.#run([`--work-tree=${directory}`, 'checkout-index', '--all', '--force', '-q'], env));
    } finally {
      await rm(index, { force: true });
      await rm(`${index}.lock`, { force: true });
    }
  }

  async #refuseBlowUp(sha: string): Promise<void> {
    const list = (format: string) => [`--git-dir=${this.#path}`, 'ls-tree', '-r', '-z', `--format=${format}`, sha];
    const { files: most } = LARGEST_CHECKOUT;
    // A few nested folders can stand for billions of files, so the list is cut off at a limit.
    const problem = `the commit has more than ${most} files, which is the most that can be deployed`;
    const atMost = { bytes: most * '.\0'.length, problem };
    await expectSuccess(this.#git.run({ args: list('.'), signal: this.#signal, atMost }));
    const { stdout } = await expectSuccess(this.#git.run({ args: list('%(objectsize)'), signal: this.#signal }));
    const bytes = stdout.split('\0').reduce((sum, size) => sum + (Number(size) || 0), 0);
    if (bytes > LARGEST_CHECKOUT.bytes) {
      const gib = (bytes / 1024 ** 3).toFixed(1);
      throw new SourceError(
        `the commit's files have ${gib} GiB; the most that can be deployed is ${LARGEST_CHECKOUT.bytes / 1024 ** 3} GiB`,
      );
    }
  }

  async #fetch(
    options: string[],
    url: string,
    config: readonly (readonly [string, string])[],
    refspecs: string[],
  ): Promise<GitResult> {
    // This caller holds the mirror's lock, so this file was left behind by a git that was killed.
    await rm(join(this.#path, 'shallow.lock'), { force: true });
    const args = ['fetch', '-q', ...options, '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance'];
    return this.#git.run({
      args: [`--git-dir=${this.#path}`, ...args, '--', url, ...refspecs],
      config,
      signal: this.#signal,
    });
  }

  #run(args: string[], env: Record<string, string> = {}): Promise<GitResult> {
    return this.#git.run({ args: [`--git-dir=${this.#path}`, ...args], env, signal: this.#signal });
  }
}

/** The copy is damaged. It is replaced by a new copy of the repository. */
export class MirrorDamaged extends Error {
  constructor(result: GitResult) {
    super(lastLine(result));
    this.name = 'MirrorDamaged';
  }
}

async function expectSuccess(running: Promise<GitResult>): Promise<GitResult> {
  const result = await running;
  if (result.code !== 0) throw new MirrorDamaged(result);
  return result;
}
