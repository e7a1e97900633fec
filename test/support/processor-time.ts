import { readFile } from 'node:fs/promises';
import { statFields } from '../../shared/core/process-identity.js';

/** Linux counts processor time in ticks of a hundredth of a second. */
const TICK_MS = 10;

/** Returns the processor time of this process in milliseconds, which does not depend on other processes. */
export function ownProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Returns the least processor time of several calls, in milliseconds. Stops early at or below `enough`. */
export function bestOf(tries: number, enough: number, work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries && best > enough; i++) {
    const began = ownProcessorMs();
    work();
    best = Math.min(best, ownProcessorMs() - began);
  }
  return best;
}

/** Returns the processor time of a process without its children, in milliseconds; 0 if it has ended. */
export async function processorMs(pid: number): Promise<number> {
  const [user = 0, system = 0] = await timesOf(pid);
  return (user + system) * TICK_MS;
}

/** Returns the processor time of a process's ended children, in milliseconds. */
export async function endedChildrenMs(pid: number): Promise<number> {
  const [, , user = 0, system = 0] = await timesOf(pid);
  return (user + system) * TICK_MS;
}

async function timesOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return statFields(text).slice(11, 15).map(Number);
}
