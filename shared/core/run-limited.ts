import type { ChildProcess } from 'node:child_process';
import { type ChildLimits, endChild, SYSTEM_PATH, spawnLimited } from './limited-child.js';
import { onAbort } from './on-abort.js';

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  limits?: Partial<ChildLimits>;
  /** Milliseconds. */
  timeout?: number;
  /** Bytes. */
  maxBuffer?: number;
  signal?: AbortSignal | undefined;
  /** Gets each chunk of output. The command is killed if this returns false. */
  accept?: (chunk: Buffer) => boolean;
}

export interface ChildResult {
  code: number | null;
  killedBy: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** The limit that the command exceeded. Either `maxBuffer` or `accept` limits the output. */
  cut: 'time' | 'output' | null;
}

const TIMEOUT_MS = 15 * 60_000;
const MAX_OUTPUT_BYTES = 1024 ** 2;
const MAX_ERROR_BYTES = 256 * 1024;
const NOT_FOUND = 127;

/** Has the fields of `execFile`'s errors. */
export class CommandFailed extends Error {
  readonly code: number | 'ENOENT' | null;
  readonly killed: boolean;
  readonly stdout: string;
  readonly stderr: string;

  constructor(file: string, { code, killedBy, stdout, stderr, cut }: ChildResult) {
    const end = cut === null ? (killedBy ?? `code ${code}`) : `too much ${cut}`;
    super(`${file} failed (${end}): ${stderr.trim().slice(-1000)}`);
    this.name = 'CommandFailed';
    this.code = isMissing({ code, stderr }) ? 'ENOENT' : code;
    this.killed = cut !== null;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

/** Returns true if a command did not run because it is not installed on the host. */
export function isMissing({ code, stderr }: Pick<ChildResult, 'code' | 'stderr'>): boolean {
  return code === NOT_FOUND && /exec: .*not found/.test(stderr);
}

/** Runs a command with limits and returns its output. Throws `CommandFailed` if its exit code is not 0. */
export async function runLimited(
  file: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Pick<ChildResult, 'stdout' | 'stderr'>> {
  const result = await resultOf(file, args, options);
  if (result.code !== 0 || result.cut !== null) throw new CommandFailed(file, result);
  return result;
}

/** Runs a command and returns its result, even if it failed. Rejects if `signal` aborts. */
export async function resultOf(
  file: string,
  args: readonly string[],
  { env = { PATH: SYSTEM_PATH, LC_ALL: 'C' }, cwd = '/', limits = {}, ...bounds }: RunOptions = {},
): Promise<ChildResult> {
  bounds.signal?.throwIfAborted();
  return collect(spawnLimited([file, ...args], { env, cwd, limits, stdio: ['ignore', 'pipe', 'pipe'] }), bounds);
}

async function collect(
  child: ChildProcess,
  { timeout = TIMEOUT_MS, maxBuffer = MAX_OUTPUT_BYTES, signal, accept = () => true }: RunOptions,
): Promise<ChildResult> {
  let cut: ChildResult['cut'] = null;
  const stop = (reason: typeof cut) => {
    cut ??= reason;
    endChild(child);
  };
  const timer = setTimeout(() => stop('time'), timeout);
  const forgetAbort = signal ? onAbort(signal, () => endChild(child)) : () => undefined;
  const stdout: Buffer[] = [];
  let length = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBuffer || !accept(chunk)) stop('output');
    else stdout.push(chunk);
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-MAX_ERROR_BYTES);
  });
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, killedBy) => {
        if (signal?.aborted) reject(signal.reason);
        else resolve({ code, killedBy, stdout: Buffer.concat(stdout).toString('utf8'), stderr, cut });
      });
    });
  } finally {
    clearTimeout(timer);
    forgetAbort();
  }
}
