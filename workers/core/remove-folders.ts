import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorMessage } from '../../shared/core/error-registry.js';
import { unlessAbsent } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import { CommandFailed, runLimited } from '../../shared/core/run-limited.js';
import { removeSmallTree } from './small-tree.js';

const UNUSED_MS = 30 * 24 * 60 * 60_000;
/** A longer removal fails, and part of the folder may remain. */
const REMOVAL_MS = 10 * 60_000;
/** How long a job waits for the removal of its own folder. A sweep removes the rest. */
const DISCARD_MS = 30_000;
const TRIES = 3;
const MAX_PROBLEM_LENGTH = 2000;
const FIRST_RETRY_MS = 5 * 60_000;
const LAST_RETRY_MS = 60 * 60_000;
const TRASH = 'trash';

/** Sets the modification time of a path to now, which marks it as used. Returns false if it does not exist. */
export async function touch(path: string): Promise<boolean> {
  const now = new Date();
  return (await unlessAbsent(utimes(path, now, now).then(() => true))) ?? false;
}

export interface RemovalOptions {
  signal?: AbortSignal;
  /** Ten minutes by default. */
  timeoutMs?: number;
}

/**
 * Removes a file or folder, even one with very deep paths, odd names or missing permissions. Does not follow links or
 * enter mounted file systems. Throws if the removal fails. Use it for every folder with content.
 */
export async function removeTree(path: string, options: RemovalOptions = {}): Promise<void> {
  const deadline = AbortSignal.timeout(options.timeoutMs ?? REMOVAL_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  options.signal?.throwIfAborted();
  if (await removeSmallTree(path)) return;
  let problem = '';
  for (let tries = 0; tries < TRIES; tries++) {
    // `rm` changes into each folder, so that it also removes paths that are too long for Node.js.
    problem = await run('rm', [process.platform === 'linux' ? '-rf' : '-rfx', ...ONE_FILE_SYSTEM, '--', path], signal);
    options.signal?.throwIfAborted();
    if (problem === '') return;
    if (deadline.aborted) break;
    if (/permission denied/i.test(problem)) await run('chmod', ['-R', 'u+rwX', '--', path], signal);
    if (/not permitted/i.test(problem)) await run('chattr', ['-R', '-f', '-ia', '--', path], signal);
  }
  const cause = deadline.aborted ? 'it took too long' : problem;
  throw new Error(`${path} could not be removed: ${cause}`);
}

const ONE_FILE_SYSTEM = process.platform === 'linux' ? ['--one-file-system'] : [];

/** Returns the beginning of the command's error output; '' if the command succeeds. */
async function run(command: string, args: string[], signal: AbortSignal): Promise<string> {
  const limits = { processorSeconds: REMOVAL_MS / 1000 };
  return runLimited(command, args, { signal, limits }).then(
    () => '',
    (error: unknown) => {
      const said = error instanceof CommandFailed ? error.stderr.trim().slice(0, MAX_PROBLEM_LENGTH) : '';
      return said || errorMessage(error);
    },
  );
}

export interface DiscardDeps {
  dataDir: string;
  log: Pick<Logger, 'warn'>;
}

/**
 * Removes a folder in DATA_DIR. If that fails or takes more than 30 seconds, moves the rest to `DATA_DIR/trash`. Never
 * throws.
 */
export async function discardTree({ dataDir, log }: DiscardDeps, path: string): Promise<void> {
  try {
    await removeTree(path, { timeoutMs: DISCARD_MS });
  } catch (error) {
    const trash = join(dataDir, TRASH);
    const aside = join(trash, `${basename(path)}-${randomUUID()}`);
    const outcome = await mkdir(trash, { recursive: true, mode: 0o700 })
      .then(() => rename(path, aside))
      .then(
        () => `it is tried again in ${trash}`,
        (fault: unknown) => `it stays where it is: ${errorMessage(fault)}`,
      );
    log.warn({ path }, `${errorMessage(error)}; ${outcome}`);
  }
}

export interface Retry {
  failures: number;
  /** In milliseconds since the epoch. */
  at: number;
}

/** Returns when to retry after a failure: after 5 minutes, then twice as long each time, up to an hour. */
export function nextRetry(previous: Retry | undefined, now: number): Retry {
  const failures = previous?.failures ?? 0;
  return { failures: failures + 1, at: now + Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS) };
}

/** Path of an entry in the trash → its next retry. */
const retries = new Map<string, Retry>();

/** Removes what `discardTree` has moved to the trash. Returns the number of removed entries. */
export async function emptyTrash({ dataDir, log }: DiscardDeps, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  for (const name of await readdir(join(dataDir, TRASH)).catch(() => [])) {
    const path = join(dataDir, TRASH, name);
    const previous = retries.get(path);
    if (previous !== undefined && Date.now() < previous.at) continue;
    try {
      await removeTree(path, signal ? { signal } : {});
      retries.delete(path);
      removed += 1;
    } catch (error) {
      signal?.throwIfAborted();
      retries.set(path, nextRetry(previous, Date.now()));
      if (previous === undefined) log.warn({ path }, `${errorMessage(error)}; it is tried again, and not logged again`);
    }
  }
  return removed;
}

/** Returns true if an entry was last used more than 30 days before `now`. Times are in milliseconds. */
export function isUnused(usedAt: number, now: number): boolean {
  return now - usedAt >= UNUSED_MS;
}

/** Removes the entries of a folder that were unused for 30 days. Returns their number. */
export async function removeUnused(deps: DiscardDeps, folder: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found === null || !isUnused(found.mtimeMs, Date.now())) continue;
    await discardTree(deps, path);
    removed += 1;
  }
  return removed;
}
