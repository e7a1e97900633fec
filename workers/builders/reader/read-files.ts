import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { DIES_WITH_WORKER, findWrappers, SYSTEM_PATH } from '../../command-wrappers.js';
import { BuildError } from '../builder.js';
import type { Input, OperationName, Output, StreamInput, StreamName } from './reader-operations.js';

const MAIN = fileURLToPath(new URL('./reader-process.js', import.meta.url));
/** Time limit of operations that decide something, in milliseconds. Operations on all files have the build's time limit. */
const DECIDE_MS = 60_000;
const MEMORY_MB = 1024;
const UNBOUNDED: readonly string[] = ['sealTree', 'filterPaths'];
const LARGEST_ANSWER = 64 * 1024 ** 2;

interface Answer {
  output?: unknown;
  error?: string;
  explained?: boolean;
}

export interface ReadOptions {
  /** Ends the operation and its process at once. */
  signal: AbortSignal;
  /** After this time the operation fails, in milliseconds. */
  timeoutMs?: number;
}

/**
 * Runs an operation on a tenant's files in a process of its own, so that files that are costly to read cannot block the
 * worker. The process has 1 GiB of memory, and a minute if it decides something. Throws `BuildError` if the files are the
 * cause, which includes these limits. An abort rejects with the signal's reason.
 */
export async function readFiles<N extends OperationName>(
  name: N,
  input: Input<N>,
  { signal, timeoutMs = UNBOUNDED.includes(name) ? undefined : DECIDE_MS }: ReadOptions,
): Promise<Output<N>> {
  const reading = await start(name, input, signal, timeoutMs, 'ignore');
  reading.child.stdout?.resume();
  return (await reading.answer) as Output<N>;
}

/**
 * Runs an operation that answers with a stream, as `readFiles` does. A failure destroys the stream with the error. If the
 * caller destroys the stream, the process ends. `source` becomes the operation's standard input.
 */
export function streamFiles<N extends StreamName>(
  name: N,
  input: StreamInput<N>,
  { signal, source }: { signal?: AbortSignal; source?: Readable } = {},
): Readable {
  const output = new PassThrough();
  const closed = new AbortController();
  output.once('close', () => closed.abort(new Error('the stream was closed')));
  const ends = signal ? AbortSignal.any([signal, closed.signal]) : closed.signal;
  const run = async () => {
    const { child, answer } = await start(name, input, ends, undefined, source ? 'pipe' : 'ignore');
    // If the source fails, its error explains more than the end of the process that read it.
    const feeding = source ? pipeline(source, child.stdin as Writable).catch(ignoreBrokenPipe) : undefined;
    const passing = pipeline(child.stdout as Readable, output, { end: false });
    await Promise.all([answer, passing, feeding]);
    output.end();
  };
  run().catch((error: unknown) => {
    source?.destroy();
    output.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  return output;
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
}

let wrapper: Promise<string[]> | null = null;

async function start(
  name: string,
  input: unknown,
  signal: AbortSignal,
  timeoutMs: number | undefined,
  stdin: 'ignore' | 'pipe',
): Promise<{ child: ChildProcess; answer: Promise<unknown> }> {
  signal.throwIfAborted();
  wrapper ??= findWrappers([DIES_WITH_WORKER]);
  const [file = '', ...args] = [...(await wrapper), process.execPath, `--max-old-space-size=${MEMORY_MB}`, MAIN];
  signal.throwIfAborted();
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH: SYSTEM_PATH },
    stdio: [stdin, 'pipe', 'ignore', 'pipe', 'pipe'],
  });
  return { child, answer: settle(child, name, input, signal, timeoutMs) };
}

async function settle(
  child: ChildProcess,
  name: string,
  input: unknown,
  signal: AbortSignal,
  timeoutMs: number | undefined,
): Promise<unknown> {
  let late = false;
  const kill = () => child.kill('SIGKILL');
  const giveUp = () => {
    late = true;
    kill();
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  try {
    if (child.pid === undefined) await once(child, 'spawn');
    lowerPriority(child.pid);
    const exit = once(child, 'exit');
    const request = child.stdio[4] as Writable;
    request.on('error', () => undefined);
    request.end(JSON.stringify({ name, input }));
    const answer = await bounded(child.stdio[3] as Readable);
    const [code, killedBy] = await exit;
    signal.throwIfAborted();
    if (answer === '') throw unanswered(late, timeoutMs, killedBy ?? code);
    const { output, error, explained } = JSON.parse(answer) as Answer;
    if (error === undefined) return output;
    throw explained ? new BuildError(error) : new Error(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** Node ends itself with SIGABRT when its heap is full. The system uses SIGKILL when the memory is full. */
function unanswered(late: boolean, timeoutMs: number | undefined, end: unknown): Error {
  if (late)
    return new BuildError(
      `reading the files took longer than ${Math.round((timeoutMs ?? 0) / 1000)} s; make the files or patterns simpler`,
    );
  if (end === 'SIGABRT' || end === 134 || end === 'SIGKILL') {
    return new BuildError(`reading the files took more than ${MEMORY_MB} MB of memory; make the files smaller`);
  }
  return new Error(`the process that reads the files ended with ${end}`);
}

async function bounded(stream: Readable): Promise<string> {
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER)
      stream.destroy(new BuildError('the files of the repository describe too much; make them smaller'));
  });
  return text(stream);
}

/** Services and builds get the processor first. */
function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended, or the system does not allow it.
  }
}
