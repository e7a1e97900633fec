import type { ChildLimits } from '../../shared/core/limited-child.js';
import { type ChildResult, resultOf } from '../../shared/core/run-limited.js';
import { SourceError } from '../failures/explained-errors.js';

export interface GitCommand {
  args: readonly string[];
  signal: AbortSignal;
  /** git gets these settings in its environment, so that they are not visible in a list of processes. */
  config?: readonly (readonly [key: string, value: string])[];
  env?: Readonly<Record<string, string>>;
  atMost?: OutputLimit;
}

interface OutputLimit {
  bytes: number;
  /** Maximum number of NUL-terminated records; unlimited by default. */
  records?: number;
  problem: string;
  error?: new (problem: string) => SourceError;
}

export type GitResult = Omit<ChildResult, 'cut'>;

export interface GitOptions {
  network: Readonly<Record<string, string>>;
  /** The only configuration file that git reads. */
  configFile: string;
  allowFile: boolean;
  limits?: Partial<ChildLimits>;
}

const PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';
const GIB = 1024 ** 3;
/** `fileBytes` limits the size of a repository's pack. */
const LIMITS: ChildLimits = { memoryBytes: GIB, processorSeconds: 300, fileBytes: 2 * GIB, openFiles: 1024 };
const TIMEOUT_MS = 15 * 60_000;
const MAX_OUTPUT: OutputLimit = {
  bytes: 64 * 1024 ** 2,
  problem: 'the repository has too many branches or files',
};

/** Settings that neither a repository nor this host's git configuration can override. */
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
  // Files above this size are streamed instead of held in memory.
  'core.bigFileThreshold=64m',
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

/** Runs git with argument lists, a fixed environment, and limits on time, files and output. */
export class Git {
  readonly #options: GitOptions;
  readonly #limits: ChildLimits;

  constructor(options: GitOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  /** Resolves when git and its helpers have exited. Throws `SourceError` if git is missing or reached a limit. */
  async run({ args, signal, config = [], env = {}, atMost = MAX_OUTPUT }: GitCommand): Promise<GitResult> {
    let records = 0;
    const result = await resultOf('git', [...HARDENED.flatMap((setting) => ['-c', setting]), ...args], {
      env: { ...gitEnvironment(this.#options, config), ...env },
      limits: this.#limits,
      timeout: TIMEOUT_MS,
      maxBuffer: atMost.bytes,
      signal,
      accept: (chunk) => {
        if (atMost.records === undefined) return true;
        records += recordsIn(chunk);
        return records <= atMost.records;
      },
    });
    if (result.cut === 'output') throw new (atMost.error ?? SourceError)(atMost.problem);
    const problem = limitReached(result, this.#limits);
    if (problem !== null) throw new SourceError(problem);
    return result;
  }
}

function limitReached({ code, killedBy, stderr, cut }: ChildResult, limits = LIMITS): string | null {
  if (cut === 'time') return `git did not end within ${TIMEOUT_MS / 60_000} min; deploy again later`;
  if (code === 0) return null;
  // Git's own messages begin like this; messages of the server do not.
  const said = stderr.split('\n').filter((line) => /^(fatal|error|exec|\S+: \d+: exec):/.test(line));
  const tells = (pattern: RegExp) => said.some((line) => pattern.test(line));
  if (code === 127 && tells(/exec: .*not found/))
    return 'git is not installed on this host; install git 2.37 or newer and deploy again';
  if (killedBy === 'SIGXFSZ' || tells(/File too large|died of signal 25/))
    return `the repository is too large: it has a file or a pack of more than ${limits.fileBytes / GIB} GiB`;
  if (killedBy === 'SIGXCPU' || tells(/died of signal 24/))
    return `the repository takes git more than ${limits.processorSeconds} s of processor time; make it smaller`;
  if (tells(/out of memory|malloc failed|mmap failed|unable to (mmap|create|start).*thread|Cannot allocate memory/i))
    return `the repository takes git more than ${limits.memoryBytes / GIB} GiB of memory; make its files smaller`;
  // git prints this if a signal killed its helper that reads packs.
  if (tells(/invalid index-pack output/))
    return `the repository takes git more than ${limits.processorSeconds} s of processor time, or the host has too little memory; make it smaller`;
  return null;
}

/** Returns the complete environment of a git command, which inherits no variable of the worker. */
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
  // GIT_SSH_COMMAND, which is set so that git cannot start ssh, would override core.sshCommand.
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

function recordsIn(chunk: Buffer): number {
  let found = 0;
  for (let at = chunk.indexOf(0); at >= 0; at = chunk.indexOf(0, at + 1)) found += 1;
  return found;
}

/** Returns git's variables for proxies and certificates. git reads proxy variables only in lower case. */
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
