import type { ChildProcess } from 'node:child_process';
import { type ChildLimits, spawnLimited } from '../../shared/core/limited-child.js';
import { isMissing, resultOf } from '../../shared/core/run-limited.js';

const PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';
const GIB = 1024 ** 3;
/** A small pack can expand to a very large tree in memory and to hours of work. */
const LIMITS: Partial<ChildLimits> = { memoryBytes: 3 * GIB, processorSeconds: 300 };
const COMMAND_MS = 20_000;
const PACK_MS = 10 * 60_000;
const MAX_OUTPUT_BYTES = 4 * 1024 ** 2;

export type Settings = readonly (readonly [key: string, value: string])[];

/** These settings override the repository's own configuration. */
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

export interface GitResult {
  ok: boolean;
  stdout: string;
  stderr: string;
}

/** Runs one command in a repository. Resolves even if the command fails; rejects if git is not installed. */
export async function runGit(
  repository: string | null,
  args: readonly string[],
  { long = false }: { long?: boolean } = {},
): Promise<GitResult> {
  const argv = [...(repository ? [`--git-dir=${repository}`] : []), ...args];
  const options = {
    env: gitEnvironment([], '/dev/null'),
    limits: LIMITS,
    timeout: long ? PACK_MS : COMMAND_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  };
  const { stdout, stderr, code, cut } = await resultOf('git', argv, options);
  if (isMissing({ code, stderr })) throw new Error('git is not installed on this host');
  return { ok: code === 0 && cut === null, stdout, stderr };
}

/** Starts `git http-backend`. Pipes 3, 4 and 5 carry its hook's input, results, and messages to the pusher. */
export function spawnBackend(env: Record<string, string>): ChildProcess {
  return spawnLimited(['git', 'http-backend'], {
    cwd: '/',
    env,
    limits: LIMITS,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
}
