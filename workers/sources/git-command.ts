import { type ChildProcess, spawn } from 'node:child_process';
import { signalGroup } from '../../shared/core/signal-process.js';
import { DIES_WITH_WORKER, findWrappers } from '../command-wrappers.js';
import { lowerPriority } from '../lower-priority.js';
import { SourceError } from './repository-source.js';

export interface GitCommand {
  args: readonly string[];
  signal: AbortSignal;
  /** Settings that no list of processes may show: they reach git in its environment. */
  config?: readonly (readonly [key: string, value: string])[];
  env?: Readonly<Record<string, string>>;
  /** If git prints more, it is ended, and the problem becomes the error. */
  atMost?: OutputLimit;
}

interface OutputLimit {
  bytes: number;
  /** The most records that end with NUL; any number by default. */
  records?: number;
  problem: string;
  /** The error that is thrown; a `SourceError` by default. */
  error?: new (
    problem: string,
  ) => SourceError;
}

export interface GitResult {
  code: number | null;
  killedBy: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface GitOptions {
  /** Variables for proxies and certificates; git gets no other variable of the platform. */
  network: Readonly<Record<string, string>>;
  /** The only configuration file that git reads. */
  configFile: string;
  allowFile: boolean;
}

const PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';
/** The largest file that git may write. It bounds the pack of a repository. */
export const LARGEST_FILE_BYTES = 2 * 1024 ** 3;
/** Bounds the files that git writes, and ends git if the worker is killed. */
const WRAPPERS = [['prlimit', `--fsize=${LARGEST_FILE_BYTES}`, '--core=0', '--'], DIES_WITH_WORKER];
const TIMEOUT_MS = 15 * 60_000;
const LARGEST_OUTPUT: OutputLimit = {
  bytes: 64 * 1024 ** 2,
  problem: 'the repository has too many branches or files',
};
const LARGEST_ERROR = 256 * 1024;

/** Settings that neither a repository nor a configuration of this host can change. */
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
  // Many large projects have old commits with these harmless faults.
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

/** Runs git with argument lists, an environment of its own, and bounds on time, files and output. */
export class Git {
  readonly #options: GitOptions;
  #wrapper: Promise<string[]> | null = null;

  constructor(options: GitOptions) {
    this.#options = options;
  }

  /**
   * Resolves when git and all its helpers have ended. Throws `SourceError` if git is not installed, or was ended because it
   * took too long or printed too much. An abort ends git and rejects with the signal's reason.
   */
  async run({ args, signal, config = [], env = {}, atMost = LARGEST_OUTPUT }: GitCommand): Promise<GitResult> {
    signal.throwIfAborted();
    this.#wrapper ??= findWrappers(WRAPPERS, PATH);
    const [file = 'git', ...argv] = [
      ...(await this.#wrapper),
      'git',
      ...HARDENED.flatMap((setting) => ['-c', setting]),
      ...args,
    ];
    signal.throwIfAborted();
    const child = spawn(file, argv, {
      cwd: '/',
      env: { ...gitEnvironment(this.#options, config), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    lowerPriority(child.pid);
    return collect(child, signal, atMost);
  }
}

/**
 * The environment of a git command, made from nothing: no variable of the worker reaches git. `file:` repositories are
 * allowed only if `allowFile` says so.
 */
export function gitEnvironment(
  { network, configFile, allowFile }: GitOptions,
  config: NonNullable<GitCommand['config']> = [],
): Record<string, string> {
  const environment: Record<string, string> = {
    ...network,
    PATH,
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: configFile,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    SSH_ASKPASS: '/bin/false',
    GIT_SSH_COMMAND: '/bin/false',
    GIT_ALLOW_PROTOCOL: allowFile ? 'https:http:file' : 'https:http',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_CONFIG_COUNT: String(config.length),
  };
  // A source that has a key says how to connect; without one, git never starts ssh.
  if (config.some(([key]) => key === 'core.sshCommand')) {
    delete environment.GIT_SSH_COMMAND;
    environment.GIT_ALLOW_PROTOCOL += ':ssh';
  }
  config.forEach(([key, value], i) => {
    environment[`GIT_CONFIG_KEY_${i}`] = key;
    environment[`GIT_CONFIG_VALUE_${i}`] = value;
  });
  return environment;
}

function collect(child: ChildProcess, signal: AbortSignal, atMost: OutputLimit): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    let stopped: unknown;
    const stop = (reason: unknown) => {
      stopped ??= reason;
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
    };
    const onAbort = () => stop(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(
      () => stop(new SourceError(`git did not end within ${TIMEOUT_MS / 60_000} min; deploy again later`)),
      TIMEOUT_MS,
    );
    const stdout: Buffer[] = [];
    let length = 0;
    let records = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (atMost.records !== undefined) records += recordsIn(chunk);
      if (length > atMost.bytes || records > (atMost.records ?? 0))
        stop(new (atMost.error ?? SourceError)(atMost.problem));
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
      // A wrapper that cannot find git exits with this code.
      else if (code === 127 && /failed to execute git/.test(stderr)) reject(gitMissing());
      else resolve({ code, killedBy, stdout: Buffer.concat(stdout).toString('utf8'), stderr });
    });
  });
}

function recordsIn(chunk: Buffer): number {
  let found = 0;
  for (let at = chunk.indexOf(0); at >= 0; at = chunk.indexOf(0, at + 1)) found += 1;
  return found;
}

function gitMissing(): SourceError {
  return new SourceError('git is not installed on this host; install git 2.37 or newer and deploy again');
}

/**
 * The variables of builds that git needs too: proxies in lower case, which is the spelling that git reads, and certificates
 * under git's own names.
 */
export function gitNetwork(environment: Readonly<Record<string, string>>): Record<string, string> {
  const network: Record<string, string> = {};
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy']) {
    const value = environment[name] ?? environment[name.toUpperCase()];
    if (value !== undefined) network[name] = value;
  }
  const file = environment.GIT_SSL_CAINFO ?? environment.SSL_CERT_FILE ?? environment.CURL_CA_BUNDLE;
  const folder = environment.GIT_SSL_CAPATH ?? environment.SSL_CERT_DIR;
  if (file !== undefined) network.GIT_SSL_CAINFO = file;
  else if (folder !== undefined) network.GIT_SSL_CAPATH = folder;
  return network;
}
