import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism, constants, setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { DIES_WITH_WORKER, findWrappers, SYSTEM_PATH } from '../../core/command-wrappers.js';

const MAIN = fileURLToPath(new URL('./reader-process.js', import.meta.url));
/** The heap of one reading process, in MiB. */
export const MEMORY_MB = 1024;
/** At most this many idle processes wait for a request, for this time in milliseconds. An idle platform has none. */
const MAX_IDLE = 2;
const IDLE_MS = 10_000;
/**
 * With one busy process per processor, a further process would only slow the others down, so a request waits for one of
 * them. A further process is started if none has answered for `PATIENCE_MS`, which is about what
 * a start takes, or if the request has waited for `MAX_WAIT_MS`.
 */
const MAX_BUSY = availableParallelism();
const PATIENCE_MS = 100;
const MAX_WAIT_MS = 10 * PATIENCE_MS;

/** A process that reads what tenants wrote. It answers one request at a time, of any tenant. */
export interface Reader {
  child: ChildProcess;
  requests: Writable;
  answers: Readable;
}

let wrapper: Promise<string[]> | null = null;
const idle: { reader: Reader; timer: NodeJS.Timeout }[] = [];
let warming: Promise<void> | null = null;
/** Processes that answer requests now, and the requests that wait, in order. */
const busy = new Set<Reader>();
const waiters: ((reader: Reader | null) => void)[] = [];
/** When a process last answered, on the clock of `performance.now()`. */
let answeredAt = 0;

/**
 * Starts a process. `stdin` and `stdout` are pipes for operations that answer with a stream.
 * `prepared` names what the process loads before its first request.
 */
export async function startReader(
  stdin: 'ignore' | 'pipe' = 'ignore',
  stdout = stdin,
  prepared: readonly 'detection'[] = [],
): Promise<Reader> {
  wrapper ??= findWrappers([DIES_WITH_WORKER]);
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
  // Ignored: if the process has ended, no answer comes, which the caller notices.
  requests.on('error', () => undefined);
  return { child, requests, answers: child.stdio[3] as Readable };
}

/** Returns an idle process, or a new one. The caller gives it back, or ends it with `endReader`. */
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

/** Resolves to the next process that is given back; null if that takes too long. */
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

/**
 * Returns how much longer a request waits, in milliseconds.
 * It has waited for `waitedMs`, and no process has answered for `quietMs`.
 */
export function patienceLeft({ waitedMs, quietMs }: { waitedMs: number; quietMs: number }): number {
  return Math.ceil(Math.max(0, Math.min(PATIENCE_MS - quietMs, MAX_WAIT_MS - waitedMs)));
}

/** Ends a process that gets no further request. */
export function endReader(reader: Reader): void {
  busy.delete(reader);
  reader.child.kill('SIGKILL');
}

/** Takes back a process that has answered and may be asked again. */
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

/**
 * Starts a process before its first request, unless one is idle.
 * A start takes longer than most requests.
 */
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

/** Decides whether this process waits for the reader before it exits. */
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
    // The process has ended, or the system does not allow another priority.
  }
}
