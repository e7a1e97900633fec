import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessIdentity, processStart, statFields } from '../../shared/core/process-identity.js';
import { signalGroup } from '../../shared/core/signal-process.js';
import { withTimeLimit } from '../../shared/core/time-limit.js';

const READY_MS = 10_000;
const KILL_MS = 5_000;

/** Kills the process group of a leader, and resolves when the leader has exited. */
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

/** Returns the identity of a child that may outlive this process. If it has exited, its start time is ''. */
export async function identify(child: ChildProcess): Promise<ProcessIdentity> {
  if (child.pid === undefined) await once(child, 'spawn');
  const pid = child.pid ?? 0;
  child.unref();
  return { pid, startedAt: (await processStart(pid)) ?? '' };
}

/**
 * Resolves when the child has written to `descriptor`, which means that it is ready. Rejects with its output if it
 * exits first, or after `READY_MS`.
 */
export async function answered(
  child: ChildProcess,
  name: string,
  said: () => Promise<string>,
  descriptor = 1,
): Promise<void> {
  const channel = child.stdio[descriptor];
  if (!channel) throw new Error(`${name} was not started`);
  const ended = once(child, 'exit').then(async ([code]) => {
    throw new Error(`${name} ended with ${code}: ${(await said()).trim().split('\n').slice(-3).join(' ')}`);
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

/** Returns what a child has written to standard error so far. */
export async function errorText(child: ChildProcess): Promise<string> {
  const chunk: unknown = child.stderr?.read();
  return chunk === null || chunk === undefined ? '' : String(chunk);
}
