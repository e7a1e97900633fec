import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

/** Git in the API process: a fixed environment, no configuration of the host, bounds on memory. */

const execute = promisify(execFile);

const PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';
/** A small pack can stand for a very large tree, which git holds in memory. In bytes. */
const MOST_MEMORY = 3 * 1024 ** 3;
const COMMAND_MS = 20_000;
const PACK_MS = 10 * 60_000;
const LARGEST_OUTPUT = 4 * 1024 ** 2;

export type Settings = readonly (readonly [key: string, value: string])[];

/** What holds for every command, whatever the repository's own configuration says. */
const HARDENED: Settings = [
  ['core.fsmonitor', 'false'],
  ['core.attributesFile', '/dev/null'],
  // Larger files are streamed instead of held in memory.
  ['core.bigFileThreshold', '16m'],
  ['core.deltaBaseCacheLimit', '32m'],
  ['core.logAllRefUpdates', 'false'],
  ['pack.threads', '1'],
  ['pack.windowMemory', '64m'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['protocol.allow', 'never'],
  ['safe.directory', '*'],
];

export function gitEnvironment(settings: Settings, hooks: string): Record<string, string> {
  const environment: Record<string, string> = {
    PATH,
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
  };
  const all: Settings = [...HARDENED, ['core.hooksPath', hooks], ...settings];
  environment.GIT_CONFIG_COUNT = String(all.length);
  for (const [index, [key, value]] of all.entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = key;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return environment;
}

let wrapper: Promise<readonly string[]> | null = null;

/** The arguments that bound a command's memory; none if this host has no `prlimit`. */
function bounds(): Promise<readonly string[]> {
  wrapper ??= (async () => {
    const limits = ['prlimit', `--as=${MOST_MEMORY}:`, '--core=0', '--'];
    const [file = '', ...args] = [...limits, 'true'];
    return execute(file, args, { env: { PATH } }).then(
      () => limits,
      () => [],
    );
  })();
  return wrapper;
}

export interface GitResult {
  ok: boolean;
  stdout: string;
  stderr: string;
}

/** Runs one command in a repository. Resolves also if it fails; rejects if git is not installed. */
export async function runGit(
  repository: string | null,
  args: readonly string[],
  { hooks = '/dev/null', long = false }: { hooks?: string; long?: boolean } = {},
): Promise<GitResult> {
  const [file = 'git', ...argv] = [
    ...(await bounds()),
    'git',
    ...(repository ? [`--git-dir=${repository}`] : []),
    ...args,
  ];
  const options = {
    cwd: '/',
    env: gitEnvironment([], hooks),
    timeout: long ? PACK_MS : COMMAND_MS,
    killSignal: 'SIGKILL' as const,
    maxBuffer: LARGEST_OUTPUT,
  };
  try {
    const { stdout, stderr } = await execute(file, argv, options);
    return { ok: true, stdout, stderr };
  } catch (error) {
    const failure = error as NodeJS.ErrnoException & { stdout?: string; stderr?: string };
    if (failure.code === 'ENOENT') throw new Error('git is not installed on this host', { cause: error });
    return { ok: false, stdout: failure.stdout ?? '', stderr: failure.stderr ?? '' };
  }
}

/**
 * Starts git's own CGI program. Three further pipes (3, 4, 5) reach the hooks that it starts: what git tells the hook, what the
 * hook answers, and what the pusher is to see.
 */
export async function spawnBackend(environment: Record<string, string>): Promise<ChildProcess> {
  const [file = 'git', ...argv] = [...(await bounds()), 'git', 'http-backend'];
  return spawn(file, argv, {
    cwd: '/',
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    // A group of its own, so that its helpers can be ended with it.
    detached: true,
  });
}
