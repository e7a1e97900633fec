import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { text } from 'node:stream/consumers';
import { CliError, EXIT, exitCodeOf } from './exit-codes.js';

/** Runs git on the user's computer. Creates no commit, branch, remote, object or file in the user's repository. */

export interface GitResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Snapshot {
  sha: string;
  subject: string;
  /** Number of files that differ from HEAD; 0 if the commit is HEAD itself. */
  changes: number;
}

export interface PushTarget {
  url: string;
  branch: string;
  key: string;
}

/** A folder to deploy, and its git repository if it is in one. */
export class WorkTree {
  readonly folder: string;
  /** The repository's root folder; null if the folder is not in a repository. */
  readonly root: string | null;
  readonly #scratch: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #signal: AbortSignal;

  private constructor(init: {
    folder: string;
    root: string | null;
    scratch: string;
    env: NodeJS.ProcessEnv;
    signal: AbortSignal;
  }) {
    this.folder = init.folder;
    this.root = init.root;
    this.#scratch = init.scratch;
    this.#env = init.env;
    this.#signal = init.signal;
  }

  /**
   * Opens a folder, which the caller must close. Throws with exit code 5 if the folder does not exist, and with 1 if
   * git is not installed.
   */
  static async open(folder: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<WorkTree> {
    const real = await realpath(resolve(folder)).catch(() => {
      throw new CliError(EXIT.notFound, `There is no folder ${folder}`);
    });
    const found = await git(real, ['rev-parse', '--show-toplevel'], { env, signal });
    const root = found.code === 0 ? found.stdout.trimEnd() : null;
    const scratch = await mkdtemp(join(tmpdir(), 'rnv-'));
    return new WorkTree({ folder: real, root, scratch, env, signal });
  }

  async close(): Promise<void> {
    await rm(this.#scratch, { recursive: true, force: true });
  }

  get rootDirectory(): string {
    return this.root === null ? '' : relative(this.root, this.folder).split(sep).join('/');
  }

  /** Returns the current branch; null if HEAD is detached or there is no repository. */
  async branch(): Promise<string | null> {
    if (this.root === null) return null;
    const { code, stdout } = await this.#git(['symbolic-ref', '--quiet', '--short', 'HEAD']);
    return code === 0 ? stdout.trim() : null;
  }

  /** Returns HEAD, or a new commit outside the repository if files differ from HEAD. */
  async snapshot(): Promise<Snapshot> {
    if (this.root === null) return this.#commitOfFolder();
    const head = await this.#git(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
    const status = await this.#must(['status', '--porcelain', '-z', '--untracked-files=all', '--no-renames']);
    const changes = status.split('\0').filter((entry) => entry !== '').length;
    if (head.code !== 0) return this.#commitOfTree(null, changes);
    const sha = head.stdout.trim();
    return changes === 0 ? { sha, subject: await this.#subject(sha), changes } : this.#commitOfTree(sha, changes);
  }

  /**
   * Pushes the commit. Returns `unchanged` if the branch already has it. If the platform refuses the push, throws its
   * reason.
   */
  async push({ sha }: Snapshot, { url, branch, key }: PushTarget): Promise<'pushed' | 'unchanged'> {
    const options = [
      '--porcelain',
      '--force',
      '--no-verify',
      '--no-signed',
      '--no-follow-tags',
      '--recurse-submodules=no',
    ];
    const remote = `rnv-${randomUUID()}:`;
    const args = ['push', ...options, '-o', 'no-wait', remote, `${sha}:refs/heads/${branch}`];
    const { code, stdout, stderr } = await this.#git(args, keyInEnvironment(this.#environment, { key, url, remote }));
    if (code === 0) return /^=\t/m.test(stdout) ? 'unchanged' : 'pushed';
    throw refusalOf(stdout, stderr);
  }

  async #commitOfTree(parent: string | null, changes: number): Promise<Snapshot> {
    const index = join(this.#scratch, 'index');
    const own = (await this.#must(['rev-parse', '--git-path', 'index'])).trim();
    // With a copy of the user's index, git reads only the files that changed.
    await copyFile(resolve(this.folder, own), index).catch(() => undefined);
    const objects = resolve(this.folder, (await this.#must(['rev-parse', '--git-path', 'objects'])).trim());
    const before = parent === null ? '' : await this.#subject(parent);
    await mkdir(join(this.#scratch, 'objects'));
    this.#apart = {
      GIT_INDEX_FILE: index,
      GIT_OBJECT_DIRECTORY: join(this.#scratch, 'objects'),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: [objects, this.#env.GIT_ALTERNATE_OBJECT_DIRECTORIES].filter(Boolean).join(':'),
    };
    await this.#must(['-C', this.root ?? this.folder, 'add', '--all']);
    const subject = before === '' ? 'Uncommitted files' : `${before} (with uncommitted changes)`;
    return { sha: await this.#commit(parent, subject), subject: before, changes };
  }

  async #commitOfFolder(): Promise<Snapshot> {
    const repository = join(this.#scratch, 'repository');
    await this.#must(['init', '--quiet', '--bare', repository]);
    await writeFile(join(repository, 'info', 'exclude'), 'node_modules/\n.env\n.env.*\n');
    this.#apart = { GIT_DIR: repository, GIT_WORK_TREE: this.folder };
    await this.#must(['add', '--all']);
    const changes = (await this.#must(['ls-files', '-z'])).split('\0').length - 1;
    if (changes === 0) throw new CliError(EXIT.usage, `${this.folder} has no files to deploy`);
    return { sha: await this.#commit(null, 'Files of a folder'), subject: '', changes };
  }

  async #commit(parent: string | null, subject: string): Promise<string> {
    const tree = (await this.#must(['write-tree'])).trim();
    const args = ['commit-tree', '--no-gpg-sign', tree, ...(parent === null ? [] : ['-p', parent]), '-m', subject];
    const named = await this.#git(['config', 'user.email']);
    const author = { NAME: 'rnv', EMAIL: 'rnv@localhost' };
    const identity = Object.fromEntries(
      ['AUTHOR', 'COMMITTER'].flatMap((who) =>
        Object.entries(author).map(([what, value]) => [`GIT_${who}_${what}`, value]),
      ),
    );
    return (await this.#must(args, named.code === 0 ? {} : identity)).trim();
  }

  async #subject(sha: string): Promise<string> {
    return (await this.#must(['log', '-1', '--format=%s', sha])).trim();
  }

  /** Environment variables that make git store the index and new objects in a separate folder. */
  #apart: Record<string, string> = {};

  get #environment(): NodeJS.ProcessEnv {
    return { ...this.#env, ...this.#apart };
  }

  #git(args: readonly string[], env: NodeJS.ProcessEnv = this.#environment): Promise<GitResult> {
    return git(this.folder, args, { env, signal: this.#signal });
  }

  async #must(args: readonly string[], more: Record<string, string> = {}): Promise<string> {
    const { code, stdout, stderr } = await this.#git(args, { ...this.#environment, ...more });
    if (code === 0) return stdout;
    throw new CliError(EXIT.unexpected, `git ${args[0]} failed: ${stderr.trim().split('\n').slice(-3).join('\n')}`);
  }
}

const KEY = 'RNV_PUSH_KEY';

/**
 * Passes the API key to git in a variable, so that no URL or argument contains it. The empty helper disables the user's
 * own helpers, which might store the key. `remote` is a random name, so that no `insteadOf` rule of the user redirects
 * the push.
 */
function keyInEnvironment(
  env: NodeJS.ProcessEnv,
  { key, url, remote }: { key: string; url: string; remote: string },
): NodeJS.ProcessEnv {
  const settings = [
    [`url.${url}.insteadOf`, remote],
    [`url.${url}.pushInsteadOf`, remote],
    ['credential.helper', ''],
    [
      `credential.${new URL(url).origin}.helper`,
      `!f() { test "$1" = get && echo username=rnv && echo "password=$${KEY}"; }; f`,
    ],
    ['credential.useHttpPath', 'false'],
    ['http.followRedirects', 'false'],
    ['core.hooksPath', process.platform === 'win32' ? 'NUL' : '/dev/null'],
  ];
  const first = Number(env.GIT_CONFIG_COUNT ?? 0) || 0;
  const pairs = settings.flatMap(([name, value], i) => [
    [`GIT_CONFIG_KEY_${first + i}`, name],
    [`GIT_CONFIG_VALUE_${first + i}`, value],
  ]);
  return {
    ...env,
    ...Object.fromEntries(pairs),
    GIT_CONFIG_COUNT: String(first + settings.length),
    GIT_TERMINAL_PROMPT: '0',
    [KEY]: key,
  };
}

const CODES: Record<string, number> = { unauthenticated: 401, forbidden: 403, not_found: 404, rate_limited: 429 };

/** Converts the output of a failed push to an error. A refused push gets the exit code of a refused API request. */
export function refusalOf(stdout: string, stderr: string): CliError {
  const said = stderr
    .split('\n')
    .flatMap((line) => (line.startsWith('remote: ') ? [line.slice('remote: '.length).trim()] : []))
    .filter((line) => line !== '');
  const [, reason = ''] = /^!\t\S+\t\[[^\]]*\](?: \((.*)\))?$/m.exec(stdout) ?? [];
  const [, http] = /returned error: (\d{3})/.exec(stderr) ?? [];
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const message = `The push was refused${said.length > 0 ? `:\n  ${said.join('\n  ')}` : `: ${reason || last}`}`;
  if (http !== undefined) return new CliError(exitCodeOf(Number(http)), message);
  if (/Authentication failed|could not read (Username|Password)/.test(stderr))
    return new CliError(EXIT.notSignedIn, message);
  if (/Could not resolve|Failed to connect|Couldn't connect|Connection (refused|reset)|timed out/i.test(stderr))
    return new CliError(EXIT.unreachable, message);
  return new CliError(reason === '' ? EXIT.unexpected : exitCodeOf(CODES[reason] ?? 409), message);
}

/** Runs git. Rejects only if git cannot be started or was interrupted. */
async function git(
  cwd: string,
  args: readonly string[],
  { env, signal }: { env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<GitResult> {
  const child = spawn('git', args, { cwd, env: { ...env, LC_ALL: 'C' }, stdio: ['ignore', 'pipe', 'pipe'], signal });
  try {
    const closed = once(child, 'close') as Promise<[code: number | null]>;
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { code: code ?? 1, stdout, stderr };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new CliError(EXIT.unexpected, 'git is not installed, or the folder does not exist any more');
  }
}
