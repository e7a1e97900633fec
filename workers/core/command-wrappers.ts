import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SYSTEM_PATH } from '../../shared/core/limited-child.js';

const execute = promisify(execFile);

export { SYSTEM_PATH };

/** Returns a prefix with which the kernel kills a command when this worker exits; [] without `setpriv`. */
export function diesWithWorker(): Promise<string[]> {
  const [file, ...args] = ['setpriv', '--pdeathsig', 'KILL', '--'] as const;
  return execute(file, [...args, 'true'], { env: { PATH: SYSTEM_PATH } }).then(
    () => [file, ...args],
    () => [],
  );
}
