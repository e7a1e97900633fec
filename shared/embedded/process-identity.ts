import { readFile } from 'node:fs/promises';
import { runAs } from './system-user.js';

/**
 * When the process with this number began, as opaque text; null where there is none. The number alone says nothing: it is
 * given again to another process, above all after the machine or a container started anew.
 */
export async function processStart(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') {
    // ps exits with 1 where there is no such process.
    return runAs(undefined, 'ps', ['-o', 'lstart=', '-p', String(pid)]).then(
      (text) => text.trim() || null,
      () => null,
    );
  }
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'latin1'),
      readFile('/proc/sys/kernel/random/boot_id', 'latin1'),
    ]);
    // The name in parentheses may hold spaces; of the fields behind it the state is the first and the start the 20th.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : `${boot.trim()}:${fields[18]}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}
