import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The variable that marks every process of a sandbox. */
export const MARKER = 'RANVIER_SANDBOX';

/** The kernel's start time of a process, or null where it does not live (a zombie does not). */
export async function startTimeOf(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return startTimeByPs(pid);
  const stat = await readQuietly(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The command name stands in parentheses and may hold anything; field 3 follows its last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startTime] = [fields[0], fields[19]];
  return state === 'Z' || state === 'X' || startTime === undefined ? null : startTime;
}

async function startTimeByPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const text = stdout.trim();
    return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '');
  } catch {
    return null;
  }
}

/** The marked processes of this host: pid → value of the marker. Empty where there is no /proc. */
export async function markedProcesses(prefix: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const entry = Buffer.from(`${MARKER}=${prefix}`);
  for (const name of await listQuietly('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environ = await readQuietly(`/proc/${name}/environ`, 'latin1');
    if (!environ?.includes(entry.toString('latin1'))) continue;
    const value = environ.split('\0').find((line) => line.startsWith(`${MARKER}=${prefix}`));
    if (value !== undefined && (await startTimeOf(Number(name))) !== null) {
      found.set(Number(name), value.slice(MARKER.length + 1));
    }
  }
  return found;
}

/** TCP ports on which one of these processes listens, ascending; null where the host does not tell. */
export async function listeningPortsOf(pids: Iterable<number>): Promise<number[] | null> {
  if ((await readQuietly('/proc/net/tcp')) === null) return null;
  const sockets = new Set<string>();
  for (const pid of pids) {
    for (const fd of await listQuietly(`/proc/${pid}/fd`)) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
  }
  const ports = new Set<number>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of ((await readQuietly(table)) ?? '').split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === LISTEN && inode !== undefined && sockets.has(inode)) {
        ports.add(Number.parseInt(local?.split(':')[1] ?? '', 16));
      }
    }
  }
  return [...ports].sort((a, b) => a - b);
}

const LISTEN = '0A';

/** Null where the process has gone or is not ours to look at: both mean that there is nothing to see. */
async function readQuietly(path: string, encoding: BufferEncoding = 'utf8'): Promise<string | null> {
  try {
    return await readFile(path, encoding);
  } catch {
    return null;
  }
}

async function listQuietly(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch {
    return [];
  }
}
