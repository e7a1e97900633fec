import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { SourceError } from './source.js';

export interface GitCommand {
  args: readonly string[];
  signal: AbortSignal;
  /** Settings that must not be seen in a list of processes. */
  config?: readonly (readonly [key: string, value: string])[];
  env?: Readonly<Record<string, string>>;
  /** Ends git where it prints more, with this as the problem. */
  atMost?: OutputLimit;
}

interface OutputLimit {
  bytes: number;
  problem: string;
}

export interface GitResult {
  code: number | null;
  killedBy: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface GitOptions {
  /** Variables for proxies and certificates, and nothing else of the platform's. */
  network: Readonly<Record<string, string>>;
  /** The only configuration file that git reads. */
  configFile: string;
  allowFile: boolean;
}

const execute = promisify(execFile);

const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/homebrew/bin'];
/** The largest file git may write: a pack of a repository that is far too large ends there. */
export const LARGEST_FILE_BYTES = 2 * 1024 ** 3;
const TIMEOUT_MS = 15 * 60_000;
const LARGEST_OUTPUT: OutputLimit = {
  bytes: 64 * 1024 ** 2,
  problem: 'the repository has too many branches or files',
};
const LARGEST_ERROR = 256 * 1024;

/** Whatever a repository or a setting of this host may ask for, these stay as they are. */
const HARDENED = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.symlinks=true',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'credential.helper=',
  'protocol.ext.allow=never',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'fetch.unpackLimit=1',
  'transfer.fsckObjects=true',
  // Harmless faults of old commits that every large project has.
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  'fetch.fsck.badTimezone=ignore',
  'http.followRedirects=false',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=30',
  'safe.bareRepository=explicit',
  'gc.auto=0',
  'maintenance.auto=false',
  'i18n.logOutputEncoding=UTF-8',
  'advice.detachedHead=false',
];

/** Runs git with argument lists only, an environment made from nothing, and bounds on time, files and output. */
export class Git {
  readonly #options: GitOptions;
  #wrapper: Promise<string[]> | null = null;

  constructor(options: GitOptions) {
    this.#options = options;
  }

  /** Ends when git and all its helpers have ended. Throws `SourceError` where git is not installed or had to be stopped. */
  async run({ args, signal, config = [], env = {}, atMost = LARGEST_OUTPUT }: GitCommand): Promise<GitResult> {
    signal.throwIfAborted();
    this.#wrapper ??= findWrapper();
    const [file = 'git', ...argv] = [
      ...(await this.#wrapper),
      'git',
      ...HARDENED.flatMap((setting) => ['-c', setting]),
      ...args,
    ];
    signal.throwIfAborted();
    const child = spawn(file, argv, {
      cwd: '/',
      env: { ...this.#environment(config), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    return collect(child, signal, atMost);
  }

  #environment(config: NonNullable<GitCommand['config']>): Record<string, string> {
    const environment: Record<string, string> = {
      ...this.#options.network,
      PATH: FOLDERS.join(':'),
      HOME: '/nonexistent',
      LC_ALL: 'C',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: this.#options.configFile,
      GIT_ATTR_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '/bin/false',
      SSH_ASKPASS: '/bin/false',
      GIT_SSH_COMMAND: '/bin/false',
      GIT_ALLOW_PROTOCOL: this.#options.allowFile ? 'https:http:file' : 'https:http',
      GIT_LFS_SKIP_SMUDGE: '1',
      GIT_NO_LAZY_FETCH: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_CONFIG_COUNT: String(config.length),
    };
    config.forEach(([key, value], i) => {
      environment[`GIT_CONFIG_KEY_${i}`] = key;
      environment[`GIT_CONFIG_VALUE_${i}`] = value;
    });
    return environment;
  }
}

/** Where the host has the tools: files stay bounded, and git does not outlive a killed worker. */
async function findWrapper(): Promise<string[]> {
  const tools = [
    ['prlimit', `--fsize=${LARGEST_FILE_BYTES}`, '--core=0', '--'],
    ['setpriv', '--pdeathsig', 'KILL', '--'],
  ];
  const wrapper: string[] = [];
  for (const [file = '', ...args] of tools) {
    const works = await execute(file, [...args, 'true'], { env: { PATH: FOLDERS.join(':') } }).then(
      () => true,
      () => false,
    );
    if (works) wrapper.push(file, ...args);
  }
  return wrapper;
}

function collect(child: ChildProcess, signal: AbortSignal, atMost: OutputLimit): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    let stopped: unknown;
    const stop = (reason: unknown) => {
      stopped ??= reason;
      killGroup(child);
    };
    const onAbort = () => stop(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(
      () => stop(new SourceError(`git did not end within ${TIMEOUT_MS / 60_000} min`)),
      TIMEOUT_MS,
    );
    const stdout: Buffer[] = [];
    let length = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > atMost.bytes) stop(new SourceError(atMost.problem));
      else stdout.push(chunk);
    });
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-LARGEST_ERROR);
    });
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      finish();
      reject(error.code === 'ENOENT' ? gitMissing() : error);
    });
    child.once('close', (code, killedBy) => {
      finish();
      if (stopped !== undefined) reject(stopped);
      // A wrapper that cannot find git says so with this code.
      else if (code === 127 && /failed to execute git/.test(stderr)) reject(gitMissing());
      else resolve({ code, killedBy, stdout: Buffer.concat(stdout).toString('utf8'), stderr });
    });
  });
}

function gitMissing(): SourceError {
  return new SourceError('git is not installed on this host; install git 2.37 or newer and deploy again');
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
