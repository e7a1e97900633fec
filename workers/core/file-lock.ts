import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { runningHolder, tryLockFile } from '../../shared/core/lock-file.js';
import { identityOf, type ProcessIdentity } from '../../shared/core/process-identity.js';

interface Holder extends ProcessIdentity {
  /** Distinguishes holders within one process. */
  id: string;
}

const POLL_MS = 20;

/** Lock file → a promise that resolves when the last waiting caller of this process is done. */
const queues = new Map<string, Promise<void>>();

/**
 * Runs `work` while this caller holds the lock file, which excludes every other caller on this host. Takes over the
 * lock of a killed process. Rejects with the signal's reason if aborted while waiting.
 */
export async function withFileLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve();
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const all = before.then(() => left);
  queues.set(path, all);
  void all.then(() => {
    if (queues.get(path) === all) queues.delete(path);
  });
  try {
    await orAborted(before, signal);
    return await withFile(path, signal, work);
  } finally {
    leave();
  }
}

function orAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    void turn.then(resolve).finally(() => signal.removeEventListener('abort', abort));
  });
}

async function withFile<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const id = randomUUID();
  const own = `${path}.${id}`;
  const holder: Holder = { ...(await identityOf(process.pid)), id };
  await writeFile(own, JSON.stringify(holder), { mode: 0o600 });
  try {
    while (!(await tryLockFile(path, own, runningHolder)).taken) {
      await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  } finally {
    await rm(own, { force: true });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}
