import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
let bootId: string | null = null;

/** Identifies one process, even though the system reuses pids. */
export interface ProcessIdentity {
  pid: number;
  startedAt: string;
}

/** Returns the identity of a running process. Throws if the process has exited. */
export async function identityOf(pid: number): Promise<ProcessIdentity> {
  const startedAt = await processStart(pid);
  if (startedAt === null) throw new Error(`there is no process ${pid}`);
  return { pid, startedAt };
}

export async function isRunning({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  return (await processStart(pid)) === startedAt;
}

/**
 * Returns the start time of a process as an opaque string; null if it has exited or is a zombie.
 * A process whose main thread has exited looks like a zombie, but counts as running while other threads run. The boot
 * id is included because, after a reboot, a process can get the same pid at the same time since boot.
 */
export async function processStart(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return startByPs(pid);
  try {
    const [stat, boot] = await Promise.all([readFile(`/proc/${pid}/stat`, 'latin1'), currentBoot()]);
    const fields = statFields(stat);
    const start = fields[19];
    return hasEnded(fields) || start === undefined ? null : `${boot}:${start}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

/**
 * Returns the fields of `/proc/<pid>/stat` after the command name, which may contain any character. Field 0 is the
 * state, 2 the process group, 11 to 14 the CPU times, 17 the number of threads, 19 the start time.
 */
export function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function hasEnded(fields: readonly string[]): boolean {
  const [state, threads] = [fields[0], Number(fields[17])];
  return state === 'X' || (state === 'Z' && threads <= 1);
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
