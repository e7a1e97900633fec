import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
let bootId: string | null = null;

/**
 * The start of a process as opaque text; null if the process has ended (a zombie has ended).
 *
 * The text and the pid together name one process for good: the system reuses pids, and after a reboot a process can get
 * the same pid at the same time after boot, so the text contains the id of the boot.
 */
export async function processStart(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return startByPs(pid);
  try {
    const [stat, boot] = await Promise.all([readFile(`/proc/${pid}/stat`, 'latin1'), currentBoot()]);
    // The command's name is in parentheses and may contain anything. Behind it, field 0 is the state and field 19 the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state === 'Z' || state === 'X' || start === undefined ? null : `${boot}:${start}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

async function currentBoot(): Promise<string> {
  bootId ??= (await readFile('/proc/sys/kernel/random/boot_id', 'latin1')).trim();
  return bootId;
}

async function startByPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const text = stdout.trim();
    return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '');
  } catch {
    // ps exits with 1 if there is no such process.
    return null;
  }
}
