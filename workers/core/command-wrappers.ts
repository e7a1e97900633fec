import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SYSTEM_PATH } from '../../shared/core/limited-child.js';

const execute = promisify(execFile);

export { SYSTEM_PATH };

/** A wrapper that kills a command if the worker that started it is killed. */
export const DIES_WITH_WORKER = ['setpriv', '--pdeathsig', 'KILL', '--'] as const;

/**
 * Returns the arguments to put before a command so that it runs inside these wrappers. Leaves out a wrapper that this
 * host lacks or may not use; commands then run without its protection.
 */
export async function findWrappers(wrappers: readonly (readonly string[])[], path = SYSTEM_PATH): Promise<string[]> {
  const found: string[] = [];
  for (const [file = '', ...args] of wrappers) {
    const works = await execute(file, [...args, 'true'], { env: { PATH: path } }).then(
      () => true,
      () => false,
    );
    if (works) found.push(file, ...args);
  }
  return found;
}
