import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

export interface TetherOptions {
  /** The signal that asks this program to end, also after our own sudden end. */
  stopSignal: 'TERM' | 'INT';
  /** Seconds between that signal and KILL, where we are no longer there to decide. */
  graceSeconds: number;
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Runs the child as another user; only root may. */
  user?: { uid: number; gid: number } | undefined;
  /** An open descriptor that the child finds as its descriptor 4. */
  passDescriptor?: number | undefined;
}

/** A child in a process group of its own that ends when we do, even by kill -9. */
export interface Tethered {
  pid: number;
  stdout: NodeJS.ReadableStream;
  stderr: NodeJS.ReadableStream;
  /** Resolves when the child has ended, with the reason in words ("exit code 1", "signal SIGKILL"). */
  ended: Promise<string>;
  /** Sends the signal to the child, or to its whole group. */
  kill(signal: NodeJS.Signals, whom?: 'child' | 'group'): void;
}

/**
 * Descriptor 3 is the tether: a pipe whose other end only we hold. A watcher in the child's process group reads it; end of
 * file means that we are gone, a line means that the child is. While the watcher lives, the number of the group cannot be
 * given to another process, so it can never signal a stranger. The program itself takes the place of the shell.
 */
const WATCH = `
signal=$1 tenths=$(($2 * 10)); shift 2
( (
  trap '' TERM INT HUP
  read -r ended <&3 && exit
  kill -s "$signal" 0
  while [ "$tenths" -gt 0 ] && kill -0 $$; do sleep 0.1; tenths=$((tenths - 1)); done
  kill -s KILL 0
) >/dev/null 2>&1 & )
exec "$@" 3<&-
`;

/** Starts `argv` tied to this process. Throws where the program cannot be started at all. */
export async function spawnTethered(argv: string[], options: TetherOptions): Promise<Tethered> {
  const { stopSignal, graceSeconds, env, cwd, user, passDescriptor } = options;
  const child = spawn('/bin/sh', ['-c', WATCH, 'sh', stopSignal, String(graceSeconds), ...argv], {
    cwd,
    env,
    ...user,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', passDescriptor ?? 'ignore'],
  });
  await started(child);
  const tether = child.stdio[3] as Socket;
  // The watcher may be gone before our last line reaches it: nothing is lost then.
  tether.on('error', () => tether.destroy());
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      tether.end('ended\n');
      resolve(signal ? `signal ${signal}` : `exit code ${code}`);
    });
  });
  const { pid, stdout, stderr } = child;
  if (pid === undefined || !stdout || !stderr) throw new Error(`${argv[0]} has no process id or output`);
  return {
    pid,
    stdout,
    stderr,
    ended,
    kill(signal, whom = 'child') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      if (whom === 'child') child.kill(signal);
      else process.kill(-pid, signal);
    },
  };
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}
