import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
let bootId: string | null = null;

/** Identifies one process, even though the system reuses pids. */
export interface ProcessIdentity {
  pid: number;
  /** An opaque string from `processStart`. */
  startedAt: string;
}

/** Returns the identity of a running process. Throws if it has exited. */
export async function identityOf(pid: number): Promise<ProcessIdentity> {
  const startedAt = await processStart(pid);
  if (startedAt === null) throw new Error(`there is no process ${pid}`);
  return { pid, startedAt };
}

/** Returns true while exactly this process runs, and not another process with the same pid. */
export async function isRunning({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  return (await processStart(pid)) === startedAt;
}

/**
 * Returns the start time of a process as an opaque string; null if the process has exited.
 * A zombie counts as exited, unless some of its threads still run. A process whose main thread has exited looks like a
 * zombie while its other threads run.
 * The string and the pid identify a process permanently. The system reuses pids, and after a reboot a process can get
 * the same pid at the same time since boot, so the string includes the boot id.
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
 * Returns the fields of `/proc/<pid>/stat` that follow the command name. The name may contain any character. Field 0 is
 * the state, 2 the process group, 11 to 14 the CPU times, 17 the number of threads, 19 the start time.
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
