import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process';
import { lowerPriority } from './lower-priority.js';
import { signalGroup } from './signal-process.js';

/** The PATH for tools that the platform itself runs. It does not depend on the platform's environment. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Limits of one process. Each of its descendants gets the same limits for itself. */
export interface ChildLimits {
  /** Writable memory. Files mapped read-only and address space that is only reserved do not count. */
  memoryBytes: number;
  processorSeconds: number;
  /** Maximum size of a file that the process writes. */
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

/** Seconds between SIGXCPU, sent when the limit of CPU time is reached, and SIGKILL. */
const KILL_AFTER_SECONDS = 5;
/** oom_score_adj of the processes (-1000 to 1000). The kernel's OOM killer kills them before the platform's own. */
const OOM_SCORE = 500;

/**
 * Returns a shell script that sets the limits and then executes the command. If `ulimit` cannot set a limit, the
 * current one is already stricter. A watcher waits on the descriptor `tether`, one end of a pipe whose other end only
 * this Node.js process holds. That end closes when this process exits, or when it notices that the command has exited.
 * The watcher then kills the rest of the process group. While the watcher runs, the system does not reuse the group's
 * id.
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
 * Starts a command with limits in its own process group. The group is killed when the command or this process exits. To
 * stop it, signal the group (`endChild`). If the command does not exist, the exit code is 127.
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

/** Kills a child of `spawnLimited` and its process group, unless the child has already exited. */
export function endChild({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) signalGroup(pid, 'SIGKILL');
}
