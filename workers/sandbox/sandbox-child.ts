import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { onAbort } from '../../shared/core/on-abort.js';
import { processStart } from '../../shared/core/process-identity.js';
import { signalGroup } from '../../shared/core/signal-process.js';
import { LastLines } from '../core/last-lines.js';
import { type Cgroup, ranOutOfMemory } from './cgroup.js';
import { type LineCutter, LineSplitter } from './line-splitter.js';
import type { RunOptions, RunOutcome } from './sandbox.js';

const NOT_STARTED = 125;
const PROBLEM_LINES = 3;

/** Resolves to a child's exit code in the shell's convention: 128 plus the number for a signal. */
function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(NOT_STARTED));
    child.once('exit', (code, name) => resolve(code ?? 128 + constants.signals[name ?? 'SIGKILL']));
  });
}

async function spawned(child: ChildProcess): Promise<number> {
  if (child.pid === undefined) await once(child, 'spawn');
  if (child.pid === undefined) throw new Error('The command could not be started');
  return child.pid;
}

export interface Launched {
  child: ChildProcess;
  pid: number;
  startedAt: string;
  exited: Promise<number>;
}

/** Resolves to a child's pid and start time once it has started. Rejects if it cannot be started. */
export async function launched(child: ChildProcess): Promise<Launched> {
  const exited = ended(child);
  const pid = await spawned(child);
  // A short command may already have ended, and the kernel may reuse its pid. No process has the start time `ended`.
  const startedAt = (await processStart(pid)) ?? 'ended';
  return { child, pid, startedAt, exited };
}

/** Resolves to true when the command starts, and to false if the child ends first. */
function started(child: ChildProcess): Promise<boolean> {
  const channel = child.stdio[3] as Readable;
  return new Promise((resolve) => {
    channel.once('data', () => resolve(true));
    channel.once('close', () => resolve(false));
    // An error of the channel is ignored, because the child's exit code tells the reason.
    channel.on('error', () => undefined);
  });
}

/** The stream is paused until the promise of `onLine` resolves. */
async function deliver(
  stream: Readable | null,
  name: 'stdout' | 'stderr',
  onLine: RunOptions['onLine'],
  cutter?: LineCutter,
): Promise<void> {
  const splitter = new LineSplitter(cutter);
  const pass = async (lines: string[]) => {
    for (const line of lines) await onLine(line, name);
  };
  for await (const chunk of stream ?? []) await pass(splitter.push(chunk as Buffer));
  await pass(splitter.end());
}

/** The exit code in the shell's convention, and why the child was stopped, if it was. */
export interface ChildEnd {
  code: number;
  cut: 'timeout' | 'aborted' | null;
}

/**
 * Runs a sandbox's child until it exits. Rejects if the sandbox cannot be created, or with an error of `onLine`.
 * `killRest` kills the processes that the command left running, so that the output is closed.
 */
export async function runChild(
  child: ChildProcess,
  options: RunOptions,
  killRest: () => Promise<void>,
): Promise<ChildEnd> {
  const exited = ended(child);
  const pid = await spawned(child);
  let made = false;
  const ready = started(child).then((is) => {
    made = is;
    return is;
  });
  let cut: ChildEnd['cut'] = null;
  let killTimer: NodeJS.Timeout | undefined;
  const stop = (reason: 'timeout' | 'aborted') => {
    if (cut !== null) return;
    cut = reason;
    // Until the sandbox is created, SIGTERM may be ignored.
    if (!made) return signalGroup(pid, 'SIGKILL');
    signalGroup(pid, 'SIGTERM');
    killTimer = setTimeout(() => signalGroup(pid, 'SIGKILL'), options.graceMs);
  };
  const timer = setTimeout(() => stop('timeout'), options.timeoutMs);
  const forgetAbort = onAbort(options.signal, () => stop('aborted'));
  const problems = new LastLines(PROBLEM_LINES);
  const onLine = async (line: string, stream: 'stdout' | 'stderr') => {
    if (made || (await ready)) await options.onLine(line, stream);
    else problems.push(line);
  };
  const output = Promise.all([
    deliver(child.stdout, 'stdout', onLine, options.cutter),
    deliver(child.stderr, 'stderr', onLine, options.cutter),
  ]).catch((error: unknown) => {
    signalGroup(pid, 'SIGKILL');
    throw error;
  });
  try {
    const [code] = await Promise.all([exited.then((ends) => killRest().then(() => ends)), output]);
    if (!(await ready) && cut === null) {
      throw new Error(`The sandbox could not be made: ${problems.lines.join(' ')}`);
    }
    return { code, cut };
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    forgetAbort();
    for (const stream of child.stdio) stream?.destroy();
  }
}

export async function outcomeOf(code: number, cgroup: Cgroup | null): Promise<RunOutcome> {
  if (code !== 0 && cgroup !== null && (await ranOutOfMemory(cgroup))) return { reason: 'out-of-memory' };
  // The shell reports the same code for `exit 143` and for an end by SIGTERM. The code is taken as an end by a signal.
  const signalName = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  if (signalName !== undefined) return { reason: 'signalled', signal: signalName as NodeJS.Signals };
  return { reason: 'exited', exitCode: code };
}
