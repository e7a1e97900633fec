import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import { type LineCutter, LineSplitter } from './lines.js';
import type { RunOptions } from './sandbox.js';
import { SETUP_FAILED } from './scripts.js';

/** The code a child ended with, in the shell's way of counting. */
export function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(SETUP_FAILED));
    child.once('exit', (code, name) => resolve(code ?? 128 + constants.signals[name ?? 'SIGKILL']));
  });
}

/** The pid, or the error for which there is none. */
export async function spawned(child: ChildProcess): Promise<number> {
  if (child.pid === undefined) await once(child, 'spawn');
  if (child.pid === undefined) throw new Error('The command could not be started');
  return child.pid;
}

/** Gives the loader its program; true when the sandbox stands, false where it ended before that. */
export function handOver(child: ChildProcess, script: string): Promise<boolean> {
  const channel = child.stdio[3] as Duplex;
  return new Promise((resolve) => {
    channel.once('data', () => resolve(true));
    channel.once('close', () => resolve(false));
    // The loader's end may be gone; how the child ended says why.
    channel.on('error', () => undefined);
    channel.end(script);
  });
}

/** Passes a stream on line by line; whoever takes a line holds the stream back meanwhile. */
export async function deliver(
  stream: Readable | null,
  name: 'stdout' | 'stderr',
  onLine: RunOptions['onLine'],
  cutter?: LineCutter,
): Promise<void> {
  const splitter = new LineSplitter(cutter);
  const pass = async (lines: string[]) => {
    for (const line of lines) {
      await onLine(line, name);
    }
  };
  for await (const chunk of stream ?? []) await pass(splitter.push(chunk as Buffer));
  await pass(splitter.end());
}

/** A group or process that has gone needs no signal. */
export function signalGroup(pid: number, name: NodeJS.Signals): void {
  signal(-pid, name);
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
