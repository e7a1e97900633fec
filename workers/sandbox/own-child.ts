import { type ChildProcess, type ChildProcessWithoutNullStreams, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { MARKER } from './process-table.js';
import type { Entry } from './sandbox.js';
import { USUAL_PATH } from './sandbox-plan.js';

/** With a single Go thread, a runtime written in Go takes 10 % less time. */
export const RUNTIME_ENVIRONMENT = { PATH: USUAL_PATH.join(':'), GOMAXPROCS: '1' };

/**
 * Starts a program that creates a container. The program gets the sandbox's mark and a fixed PATH, but neither the
 * platform's variables nor the command's.
 */
export function spawnOwn(
  argv: readonly string[],
  marker: string,
  stdio: StdioOptions,
  more: NodeJS.ProcessEnv = {},
): ChildProcess {
  const [file = '', ...args] = argv;
  const env = { ...RUNTIME_ENVIRONMENT, [MARKER]: marker, ...more };
  return spawn(file, args, { cwd: '/', env, stdio, detached: true });
}

/**
 * Starts a guard: a program that does its work when `end` is called or this process dies. In both cases, the guard's
 * standard input is closed. With `untilReady`, waits for the line that the guard prints when it is ready. If the guard
 * ended without that line, `isReady` is false.
 */
export async function startGuard(argv: readonly string[], untilReady: boolean) {
  const child = spawnOwn(argv, '', ['pipe', 'pipe', 'ignore']);
  const ended = once(child, 'exit');
  ended.catch(() => undefined);
  child.stdin?.on('error', () => undefined);
  const isReady =
    untilReady &&
    (await Promise.race([once(child.stdout as Readable, 'data').then(() => true), ended.then(() => false)]));
  return {
    pid: child.pid,
    isReady,
    async end() {
      child.stdin?.end();
      await ended;
    },
  };
}

/** Starts a program in a running sandbox. */
export function spawnEntry({ argv, env }: Entry): ChildProcessWithoutNullStreams {
  const [file = '', ...args] = argv;
  return spawn(file, args, { cwd: '/', env: { ...env }, stdio: 'pipe', detached: true });
}
