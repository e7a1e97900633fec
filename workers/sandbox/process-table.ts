import { readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginningOf } from '../../shared/core/beginning-of.js';
import { processStart, statFields } from '../../shared/core/process-identity.js';
import { type ListedSocket, socketsOfNamespace } from './listening-sockets.js';

/** Marks every process of a sandbox. */
export const MARKER = 'RANVIER_SANDBOX';
/**
 * How much is read of a process's file in /proc. This is four times the limit of a service's variables
 * (`VARIABLES_BYTES`), because the platform adds variables.
 */
export const MAX_PROCESS_BYTES = 1024 * 1024;
const EXEC_POLL_INTERVAL_MS = 5;
const MAX_EXEC_POLLS = 200;
/** PF_KTHREAD of the kernel's include/linux/sched.h. */
const KERNEL_THREAD_FLAG = 0x20_0000;

async function processes(): Promise<string[]> {
  return (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
}

/** Returns '' if the process has ended or may not be inspected. */
function textOf(pid: string, name: string): Promise<string> {
  return beginningOf(`/proc/${pid}/${name}`, MAX_PROCESS_BYTES, 'latin1').catch(() => '');
}

/**
 * During `execve` a process has no environment. The function then waits up to a second, so that no process is
 * overlooked.
 */
async function environmentOf(pid: string): Promise<string> {
  for (let polls = 0; polls < MAX_EXEC_POLLS; polls++) {
    const environ = await textOf(pid, 'environ');
    if (environ !== '' || !(await isInExec(pid))) return environ;
    await sleep(EXEC_POLL_INTERVAL_MS);
  }
  return '';
}

/** False for a process whose main thread has ended: it never gets an environment, and a tenant could keep many. */
async function isInExec(pid: string): Promise<boolean> {
  if ((await textOf(pid, 'cmdline')) !== '') return false;
  const fields = statFields(await textOf(pid, 'stat'));
  return !['', 'Z', 'X'].includes(fields[0] ?? '') && (Number(fields[6]) & KERNEL_THREAD_FLAG) === 0;
}

/** Returns the pid and the marker of each process whose marker begins with the prefix. Finds none without /proc. */
export async function markedProcesses(prefix: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const entry = `${MARKER}=${prefix}`;
  for (const name of await processes()) {
    const environ = await environmentOf(name);
    if (!environ.includes(entry)) continue;
    const value = environ.split('\0').find((line) => line.startsWith(entry));
    if (value !== undefined && (await processStart(Number(name))) !== null) {
      found.set(Number(name), value.slice(MARKER.length + 1));
    }
  }
  return found;
}

/**
 * Returns the Linux user IDs of all processes. The owner of a process's /proc folder is not reliable, because the
 * process can change it.
 */
export async function usersOfProcesses(): Promise<Set<number>> {
  const found = new Set<number>();
  for (const name of await processes()) {
    const [, users = ''] = /^Uid:\s(.*)$/m.exec(await textOf(name, 'status')) ?? [];
    for (const uid of users.split('\t')) if (uid !== '') found.add(Number(uid));
  }
  return found;
}

/** Returns the inodes of the sockets that these processes have open. */
export async function socketsOf(pids: Iterable<number>): Promise<Set<string>> {
  const sockets = new Set<string>();
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
  }
  return sockets;
}

/** Returns the ports at which these processes accept connections to 127.0.0.1; null without /proc. */
export async function listeningPortsOf(pids: Iterable<number>): Promise<number[] | null> {
  const listeners = await hostSockets();
  if (listeners === null) return null;
  const sockets = await socketsOf(pids);
  const reached = listeners.filter(({ address, inode }) => isReached(address, '127.0.0.1') && sockets.has(inode));
  const ports = new Set(reached.map(({ port }) => port));
  return [...ports].sort((a, b) => a - b);
}

/** Returns the listening sockets that a connection to this address can reach; null without /proc. */
export async function listenersOf(address: string, port: number): Promise<ListedSocket[] | null> {
  return (await hostSockets())?.filter((socket) => socket.port === port && isReached(socket.address, address)) ?? null;
}

function isReached(listener: string, address: string): boolean {
  return [address, '0.0.0.0', '::'].includes(listener);
}

function hostSockets(): Promise<ListedSocket[] | null> {
  return socketsOfNamespace(process.pid, Number.POSITIVE_INFINITY);
}
