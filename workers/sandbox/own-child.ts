import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { MARKER } from './process-table.js';
import { USUAL_PATH } from './sandbox-plan.js';

/**
 * Starts a program that makes a container, in a session of its own.
 * It gets the sandbox's mark and a fixed PATH, but neither the platform's variables nor the command's.
 */
export function spawnOwn(
  argv: readonly string[],
  marker: string,
  stdio: StdioOptions,
  more: NodeJS.ProcessEnv = {},
): ChildProcess {
  const [file = '', ...args] = argv;
  const env = { PATH: USUAL_PATH.join(':'), [MARKER]: marker, ...more };
  return spawn(file, args, { cwd: '/', env, stdio, detached: true });
}
