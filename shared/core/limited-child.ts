import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process';
import { lowerPriority } from './lower-priority.js';
import { signalGroup } from './signal-process.js';

/** The PATH of tools that the platform itself runs. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Limits of one process. Each of its descendants gets the same limits for itself. */
export interface ChildLimits {
  /** Writable memory. Read-only file mappings and merely reserved address space do not count. */
  memoryBytes: number;
  processorSeconds: number;
  fileBytes: number;
  openFiles: number;
}

const GIB = 1024 ** 3;
const USUAL_LIMITS: ChildLimits = {
  memoryBytes: GIB,
  processorSeconds: 300,
  fileBytes: 64 * GIB,
  openFiles: 1024,
};

/** Seconds from SIGXCPU, at the limit of CPU time, to SIGKILL. */
const KILL_AFTER_SECONDS = 5;
/** oom_score_adj (-1000 to 1000): the kernel's OOM killer kills these processes before the platform's own. */
const OOM_SCORE = 500;

/**
 * Returns a script that sets the limits and executes the command. A background shell reads from the pipe `tether`,
 * whose other end only this Node.js process holds, and kills the process group when that end closes. That shell also
 * keeps the group's id from being reused.
 */
function program({ memoryBytes, processorSeconds, fileBytes, openFiles }: ChildLimits, tether: number): string {
  const closed = Array.from({ length: tether - 2 }, (_, i) => `${i + 3}>&-`).join(' ');
  return `
limit() { ulimit "$@" 2>/dev/null || :; }
limit -c 0
limit -d ${Math.floor(memoryBytes / 1024)}
limit -f ${Math.floor(fileBytes / 512)}
limit -n ${openFiles}
limit -S -t ${processorSeconds}
limit -H -t ${processorSeconds + KILL_AFTER_SECONDS}
{ echo ${OOM_SCORE} >/proc/self/oom_score_adj; } 2>/dev/null
( exec <&${tether} >/dev/null 2>&1 ${closed}; trap '' TERM INT HUP; read -r never; kill -s KILL 0 ) &
exec "$@" ${tether}>&-`;
}

/**
 * Starts a command with limits in its own process group. The group is killed when the command or this process exits. If
 * the command does not exist, the exit code is 127.
 */
export function spawnLimited(
  [file, ...args]: readonly [file: string, ...args: string[]],
  {
    stdio,
    limits = {},
    ...options
  }: Pick<SpawnOptions, 'env' | 'cwd'> & { stdio: Exclude<StdioOptions, string>; limits?: Partial<ChildLimits> },
): ChildProcess {
  const script = program({ ...USUAL_LIMITS, ...limits }, stdio.length);
  const child = spawn('/bin/sh', ['-c', script, 'limited', file, ...args], {
    ...options,
    detached: true,
    stdio: [...stdio, 'pipe'],
  });
  const tether = (child.stdio as readonly unknown[])[stdio.length] as { destroy(): void; on: ChildProcess['on'] };
  tether?.on('error', () => undefined);
  child.once('exit', () => tether?.destroy());
  lowerPriority(child.pid);
  return child;
}

/** Kills a child of `spawnLimited` and its process group, unless the child has exited. */
export function endChild({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) signalGroup(pid, 'SIGKILL');
}
