import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessIdentity, statFields } from '../../shared/core/process-identity.js';
import { signalGroup } from '../../shared/core/signal-process.js';
import { withTimeLimit } from '../../shared/core/time-limit.js';

const READY_MS = 10_000;
const KILL_MS = 5_000;

/** Kills a process group, and resolves when its leader has exited. */
export async function endGroup(leader: ProcessIdentity): Promise<void> {
  for (const deadline = Date.now() + KILL_MS; await isRunning(leader); await sleep(10)) {
    signalGroup(leader.pid, 'SIGKILL');
    if (Date.now() > deadline) throw new Error(`process ${leader.pid} survives KILL`);
  }
}

/** Returns the id of a process's process group; NaN if the process has exited. */
export async function groupOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  return Number(statFields(stat)[2]);
}

/**
 * Resolves when the child writes to descriptor 3, which means that it is ready. If the child exits first, rejects with
 * the end of its output, which is in the file `log`. Rejects also if the child is not ready within `READY_MS`.
 */
export async function answered(child: ChildProcess, name: string, log: string): Promise<void> {
  const channel = child.stdio[3];
  if (!channel) throw new Error(`${name} was not started`);
  const ended = once(child, 'exit').then(async ([code]) => {
    throw new Error(
      `${name} ended with ${code}: ${(await readFile(log, 'utf8')).trim().split('\n').slice(-3).join(' ')}`,
    );
  });
  try {
    const late = () => new Error(`${name} was not ready after ${READY_MS / 1000} s`);
    await withTimeLimit(Promise.race([once(channel, 'data'), ended]), READY_MS, late);
  } catch (error) {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
    throw error;
  } finally {
    ended.catch(() => undefined);
    for (const stream of child.stdio) stream?.destroy();
  }
}
