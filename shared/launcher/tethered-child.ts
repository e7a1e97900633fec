import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { signalGroup } from '../core/signal-process.js';

export interface TetherOptions {
  /** Sent to the child's process group if this process exits or is killed before the child. */
  stopSignal: 'TERM' | 'INT';
  /** Seconds from `stopSignal` to SIGKILL if this process exits before the child. */
  orphanSeconds: number;
  /** A text on the watcher's command line, by which a later run finds leftover processes. */
  label: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Only root can run the child as another user. */
  user?: { uid: number; gid: number } | undefined;
  /** The child gets this open descriptor as its descriptor 4. */
  passDescriptor?: number | undefined;
}

/** A child in its own process group, which is stopped when this process exits, even after kill -9. */
export interface Tethered {
  pid: number;
  stdout: NodeJS.ReadableStream;
  stderr: NodeJS.ReadableStream;
  /** Resolves when the child has ended, with the reason in words ("exit code 1", "signal SIGKILL"). */
  ended: Promise<string>;
  kill(signal: NodeJS.Signals): void;
  killGroup(): void;
}

/**
 * A script that starts a watcher in the child's process group and then executes the child's program. The watcher waits
 * until descriptor 3, the tether, closes. Only this process holds the other end of that pipe, so the descriptor closes
 * when this process exits. While the watcher runs, the system does not reuse the group's id, so no unrelated process is
 * signalled.
 */
const WATCH = `
signal=$1 tenths=$(($2 * 10)); shift 2
( (
  trap '' TERM INT HUP
  read -r never <&3
  kill -s "$signal" 0
  while [ "$tenths" -gt 0 ] && kill -0 $$; do sleep 0.1; tenths=$((tenths - 1)); done
  kill -s KILL 0
) >/dev/null 2>&1 & )
exec "$@" 3<&-
`;

const LAST_LINES_MS = 500;

/** Starts `argv` so that it is stopped when this process exits. Throws if it cannot be started. */
export async function spawnTethered(argv: string[], options: TetherOptions): Promise<Tethered> {
  const { stopSignal, orphanSeconds, label, env, cwd, user, passDescriptor } = options;
  const child = spawn('/bin/sh', ['-c', WATCH, label, stopSignal, String(orphanSeconds), ...argv], {
    cwd,
    env,
    ...user,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', passDescriptor ?? 'ignore'],
  });
  await started(child);
  const { pid, stdout, stderr } = child;
  if (pid === undefined || !stdout || !stderr) throw new Error(`${argv[0]} has no process id or output`);
  const tether = child.stdio[3] as Socket;
  tether.on('error', () => tether.destroy());
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      // Kills the watcher, and processes that the program left behind in its group.
      signalGroup(pid, 'SIGKILL');
      tether.destroy();
      const end = signal ? `signal ${signal}` : `exit code ${code}`;
      // A process that has left the group may keep the output open, and `close` would then never follow.
      const timer = setTimeout(() => resolve(end), LAST_LINES_MS);
      child.once('close', () => {
        clearTimeout(timer);
        resolve(end);
      });
    });
  });
  return {
    pid,
    stdout,
    stderr,
    ended,
    kill(signal) {
      child.kill(signal);
    },
    killGroup() {
      if (child.exitCode === null && child.signalCode === null) signalGroup(pid, 'SIGKILL');
    },
  };
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}
