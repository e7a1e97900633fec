import { once } from 'node:events';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BuildError } from '../../failures/explained-errors.js';
import type { Input, OperationName, Output, StreamInput, StreamName } from './reader-operations.js';
import { endReader, giveBack, MEMORY_MB, type Reader, startReader, takeReader } from './reader-pool.js';

/** Timeout in milliseconds. `UNBOUNDED` operations work on all files, and have only the build's time limit. */
const DECIDE_MS = 60_000;
const UNBOUNDED: readonly string[] = ['sealTree', 'filterPaths'];
const MAX_ANSWER_BYTES = 64 * 1024 ** 2;
const NEWLINE = 0x0a;

interface Answer {
  output?: unknown;
  error?: string;
  explained?: boolean;
  /** True if the process exits after this response, because it has written a stream or uses much memory. */
  last?: boolean;
}

export interface ReadOptions {
  /** Aborts the operation and kills its process at once. */
  signal: AbortSignal;
  timeoutMs?: number;
}

/**
 * Runs an operation on a tenant's files in another process, to protect the worker from costly files. Throws
 * `BuildError` if the files exceed a limit. An abort rejects with the signal's reason.
 */
export async function readFiles<N extends OperationName>(
  name: N,
  input: Input<N>,
  { signal, timeoutMs = UNBOUNDED.includes(name) ? undefined : DECIDE_MS }: ReadOptions,
): Promise<Output<N>> {
  signal.throwIfAborted();
  const reader = await takeReader();
  let again = false;
  try {
    const { output, last } = await ask(reader, { name, input }, signal, timeoutMs);
    again = last !== true;
    return output as Output<N>;
  } finally {
    if (again) giveBack(reader);
    else endReader(reader);
  }
}

/**
 * Runs an operation whose result is a stream, in a process of its own. `source` becomes its standard input. A failure
 * destroys the stream with the error; if the caller destroys the stream, the process is killed.
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
    ends.throwIfAborted();
    const reader = await startReader(source ? 'pipe' : 'ignore', 'pipe');
    const { child } = reader;
    try {
      const exit = once(child, 'exit');
      exit.catch(() => undefined);
      // A broken pipe is ignored: the process has exited, and its answer explains the failure better.
      const feeding = source ? pipeline(source, child.stdin as Writable).catch(ignoreBrokenPipe) : undefined;
      const passing = pipeline(child.stdout as Readable, output, { end: false });
      await Promise.all([ask(reader, { name, input }, ends, undefined), passing, feeding]);
      await exit;
      output.end();
    } finally {
      child.kill('SIGKILL');
    }
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

async function ask(
  { child, requests, answers }: Reader,
  request: { name: string; input: unknown },
  signal: AbortSignal,
  timeoutMs: number | undefined,
): Promise<Answer> {
  let late = false;
  const kill = () => child.kill('SIGKILL');
  const giveUp = () => {
    late = true;
    kill();
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  try {
    if (signal.aborted) kill();
    requests.write(`${JSON.stringify(request)}\n`);
    const line = await nextLine(answers);
    signal.throwIfAborted();
    if (line === null) throw unanswered(late, timeoutMs, await endOf(child));
    const answer = JSON.parse(line) as Answer;
    if (answer.error === undefined) return answer;
    throw answer.explained ? new BuildError(answer.error) : new Error(answer.error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
}

async function endOf(child: Reader['child']): Promise<unknown> {
  if (child.pid === undefined) return 'an error: it could not be started';
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.signalCode ?? child.exitCode;
}

/**
 * Returns the error for a process that sent no response. Node.js aborts itself with SIGABRT when its heap is full; the
 * kernel sends SIGKILL when memory runs out.
 */
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

/** Resolves to the next line of a stream; null if the stream ends first. */
function nextLine(stream: Readable): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const settle = (finish: () => void) => {
      stream.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', onEnd);
      stream.pause();
      finish();
    };
    const onEnd = () => settle(() => resolve(null));
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (chunk.at(-1) === NEWLINE) settle(() => resolve(Buffer.concat(chunks).toString('utf8')));
      else if (bytes > MAX_ANSWER_BYTES)
        settle(() => reject(new BuildError('the files of the repository describe too much; make them smaller')));
    };
    stream.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onEnd);
    stream.resume();
    // A stream that has already ended emits no further event.
    if (stream.readableEnded || stream.destroyed) onEnd();
  });
}
