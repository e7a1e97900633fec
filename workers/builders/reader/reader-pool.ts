import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism, constants, setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { diesWithWorker, SYSTEM_PATH } from '../../core/command-wrappers.js';

const MAIN = fileURLToPath(new URL('./reader-process.js', import.meta.url));
/** Maximum heap size of a reader process, in MiB. */
export const MEMORY_MB = 1024;
/** At most this many processes wait for requests, each for `IDLE_MS`, so that an idle platform has none. */
const MAX_IDLE = 2;
const IDLE_MS = 10_000;
/**
 * While `MAX_BUSY` processes are busy, a request waits for one of them, because a further process would slow them all
 * down. A further process is started only if no process has responded for `PATIENCE_MS`, which is about the time of a
 * start, or if the request has waited for `MAX_WAIT_MS`.
 */
const MAX_BUSY = availableParallelism();
const PATIENCE_MS = 100;
const MAX_WAIT_MS = 10 * PATIENCE_MS;

/** A process that reads tenants' files. It handles one request at a time; the next can be for another tenant. */
export interface Reader {
  child: ChildProcess;
  requests: Writable;
  answers: Readable;
}

let wrapper: Promise<string[]> | null = null;
const idle: { reader: Reader; timer: NodeJS.Timeout }[] = [];
let warming: Promise<void> | null = null;
const busy = new Set<Reader>();
const waiters: ((reader: Reader | null) => void)[] = [];
/** When a process last responded, on the clock of `performance.now()`. */
let answeredAt = 0;

/** Starts a reader process. It loads the modules in `prepared` before its first request. */
export async function startReader(
  stdin: 'ignore' | 'pipe' = 'ignore',
  stdout = stdin,
  prepared: readonly 'detection'[] = [],
): Promise<Reader> {
  wrapper ??= diesWithWorker();
  const [file = '', ...args] = [
    ...(await wrapper),
    process.execPath,
    `--max-old-space-size=${MEMORY_MB}`,
    MAIN,
    ...prepared,
  ];
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH: SYSTEM_PATH },
    stdio: [stdin, stdout, 'ignore', 'pipe', 'pipe'],
  });
  child.on('error', () => undefined);
  lowerPriority(child.pid);
  const requests = child.stdio[4] as Writable;
  // Errors are ignored: if the process has exited, the request fails because no response arrives.
  requests.on('error', () => undefined);
  return { child, requests, answers: child.stdio[3] as Readable };
}

/** Returns an idle process, or a new one. The caller must pass it to `giveBack` or to `endReader`. */
export async function takeReader(): Promise<Reader> {
  if (idle.length === 0 && warming !== null) await warming;
  const reader = takeIdle() ?? (busy.size >= MAX_BUSY ? await nextFree() : null) ?? (await startReader());
  busy.add(reader);
  return reader;
}

function takeIdle(): Reader | null {
  for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
    clearTimeout(found.timer);
    if (!hasEnded(found.reader)) {
      hold(found.reader, true);
      return found.reader;
    }
  }
  return null;
}

/** Resolves to the next process that becomes free; null if that takes too long. */
function nextFree(): Promise<Reader | null> {
  const begun = performance.now();
  return new Promise((resolve) => {
    const settle = (reader: Reader | null) => {
      clearTimeout(timer);
      resolve(reader);
    };
    const look = () => {
      const now = performance.now();
      const left = patienceLeft({ waitedMs: now - begun, quietMs: now - Math.max(begun, answeredAt) });
      if (left > 0) {
        timer = setTimeout(look, left);
        return;
      }
      waiters.splice(waiters.indexOf(settle), 1);
      resolve(null);
    };
    let timer = setTimeout(look, PATIENCE_MS);
    waiters.push(settle);
  });
}

/** Returns for how many milliseconds a request still waits; 0 if a new process is to be started. */
export function patienceLeft({ waitedMs, quietMs }: { waitedMs: number; quietMs: number }): number {
  return Math.ceil(Math.max(0, Math.min(PATIENCE_MS - quietMs, MAX_WAIT_MS - waitedMs)));
}

/** Kills a process that must not get another request. */
export function endReader(reader: Reader): void {
  busy.delete(reader);
  reader.child.kill('SIGKILL');
}

/** Makes a process available for the next request. Kills it if enough processes are idle. */
export function giveBack(reader: Reader): void {
  answeredAt = performance.now();
  busy.delete(reader);
  const next = hasEnded(reader) ? undefined : waiters.shift();
  if (next) {
    next(reader);
    return;
  }
  if (idle.length >= MAX_IDLE || hasEnded(reader)) {
    reader.child.kill('SIGKILL');
    return;
  }
  // An idle reader must not keep this process alive.
  hold(reader, false);
  const timer = setTimeout(() => {
    const at = idle.findIndex((entry) => entry.reader === reader);
    if (at >= 0) idle.splice(at, 1);
    reader.child.kill('SIGKILL');
  }, IDLE_MS);
  timer.unref();
  idle.push({ reader, timer });
}

/** Starts a process ahead of its first request, because a start takes longer than most requests. */
export function warmReader(): void {
  if (idle.length > 0 || warming !== null) return;
  warming = startReader('ignore', 'ignore', ['detection'])
    .then(giveBack)
    .catch(() => undefined)
    .finally(() => {
      warming = null;
    });
}

function hasEnded({ child }: Reader): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null || child.killed;
}

/** Sets whether this process waits for the reader before it exits. */
function hold({ child, requests, answers }: Reader, holds: boolean): void {
  for (const part of [child, requests, answers] as { ref?(): void; unref?(): void }[]) {
    if (holds) part.ref?.();
    else part.unref?.();
  }
}

/** Lowers a reader's priority, so that services and builds get processor time first. */
function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has exited, or the system does not allow another priority.
  }
}
