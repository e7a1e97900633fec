import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SYSTEM_PATH } from '../../shared/core/limited-child.js';

const execute = promisify(execFile);

export { SYSTEM_PATH };

/** Returns what to put before a command so that it dies with this worker. Empty if the host cannot do that. */
export function diesWithWorker(): Promise<string[]> {
  const [file, ...args] = ['setpriv', '--pdeathsig', 'KILL', '--'] as const;
  return execute(file, [...args, 'true'], { env: { PATH: SYSTEM_PATH } }).then(
    () => [file, ...args],
    () => [],
  );
}
