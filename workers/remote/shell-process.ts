import { once } from 'node:events';
import { write as writeToFile } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Pty from '@lydell/node-pty';
import { lazily } from '../../shared/core/lazily.js';
import { type Size, STREAM } from '../../shared/remote/model.js';
import { spawnEntry } from '../sandbox/own-child.js';
import type { Entry } from '../sandbox/sandbox.js';

/** Native code that only terminals need. Loaded on demand, so that a worker starts even without it. */
const pty = lazily(() => createRequire(import.meta.url)('@lydell/node-pty') as typeof Pty);

/** `stream` is 0 for a terminal, otherwise one of `STREAM`. */
export type OnOutput = (chunk: Buffer, stream: number) => void;

export interface ShellProcess {
  /** Resolves when the program has accepted the bytes, or accepts no more. */
  write(chunk: Buffer): Promise<void>;
  endInput(): void;
  resize(size: Size): void;
  pause(): void;
  resume(): void;
  /** Resolves when the started process has exited, even if other processes keep its output open. */
  readonly left: Promise<void>;
  /**
   * Resolves to the exit code after all output. If a signal killed the program, the code is 128 plus the signal's
   * number.
   */
  readonly exited: Promise<number>;
}

/** Starts the program of an entry, in a terminal of this size, or with pipes if the size is null. */
export function startShell(entry: Entry, size: Size | null, onOutput: OnOutput): ShellProcess {
  return size === null ? startPiped(entry, onOutput) : startInTerminal(entry, size, onOutput);
}

/**
 * Puts the worker's terminal into raw mode, because the terminal in the container processes control characters. Then
 * prints `R`.
 */
const RAW = ['/bin/sh', '-c', 'stty raw -echo && printf R && exec "$@"', 'raw'];
const RETRY_MS = 10;

function startInTerminal({ argv, env }: Entry, { columns, rows }: Size, onOutput: OnOutput): ShellProcess {
  const [file = '', ...args] = [...RAW, ...argv];
  const options = { cwd: '/', env: { ...env }, cols: columns, rows, encoding: null };
  const terminal: Pty.IPty & { fd?: number } = pty().spawn(file, args, options);
  // Without an encoding, the output arrives as bytes, which the library's types do not declare.
  let ready: (() => void) | null = null;
  const raw = new Promise<void>((resolve) => {
    ready = resolve;
  });
  terminal.onData((chunk: string | Buffer) => {
    // The first byte means that this terminal is in raw mode and no longer echoes input.
    const bytes = Buffer.from(chunk).subarray(ready === null ? 0 : 1);
    ready?.();
    ready = null;
    if (bytes.length > 0) onOutput(bytes, 0);
  });
  let ended = false;
  const exited = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      ended = true;
      ready?.();
      resolve(signal ? 128 + signal : exitCode);
    });
  });
  return {
    exited,
    left: exited.then(() => undefined),
    async write(chunk) {
      await raw;
      for (let left = chunk; left.length > 0 && !ended && terminal.fd !== undefined; ) {
        const written = await writeNow(terminal.fd, left);
        if (written < 0) return;
        if (written === 0) await sleep(RETRY_MS);
        left = left.subarray(written);
      }
    },
    endInput: () => terminal.write('\u0004'),
    resize: (size) => {
      if (!ended) terminal.resize(size.columns, size.rows);
    },
    pause: () => terminal.pause(),
    resume: () => terminal.resume(),
  };
}

/** Returns how many bytes the terminal has accepted; -1 if it is closed. */
function writeNow(fd: number, chunk: Buffer): Promise<number> {
  return new Promise((resolve) => {
    writeToFile(fd, chunk, (error, written) => {
      if (error === null) resolve(written);
      else resolve(error.code === 'EAGAIN' ? 0 : -1);
    });
  });
}

function startPiped(entry: Entry, onOutput: OnOutput): ShellProcess {
  const child = spawnEntry(entry);
  const { stdin, stdout, stderr } = child;
  stdout.on('data', (chunk: Buffer) => onOutput(chunk, STREAM.output));
  stderr.on('data', (chunk: Buffer) => onOutput(chunk, STREAM.error));
  // Writing fails if the command exits before it has read everything.
  stdin.on('error', () => undefined);
  const exited = new Promise<number>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
  const left = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    exited,
    left,
    write: (chunk) => taken(stdin, chunk),
    endInput: () => stdin.end(),
    resize: () => undefined,
    pause: () => {
      stdout.pause();
      stderr.pause();
    },
    resume: () => {
      stdout.resume();
      stderr.resume();
    },
  };
}

async function taken(stream: Writable, chunk: Buffer): Promise<void> {
  if (!stream.writable || stream.write(chunk)) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  // A stream that fails or closes takes no more input. `exited` then reports the end.
  await Promise.race(['drain', 'close'].map((event) => once(stream, event, { signal }))).catch(() => undefined);
  waiting.abort();
}
