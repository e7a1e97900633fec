import { readFile } from 'node:fs/promises';
import { statFields } from '../../shared/core/process-identity.js';

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** Processor time of this process since it started, in milliseconds. Unlike the clock, it stands still while other processes run. */
export function ownProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The least processor time that `work` took in some tries, in milliseconds. It ends early at or below `enough`. */
export function bestOf(tries: number, enough: number, work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries && best > enough; i++) {
    const began = ownProcessorMs();
    work();
    best = Math.min(best, ownProcessorMs() - began);
  }
  return best;
}

/** Milliseconds of processor time that a process has used, without its children; 0 if it is gone. */
export async function processorMs(pid: number): Promise<number> {
  const [user = 0, system = 0] = await timesOf(pid);
  return (user + system) * TICK_MS;
}

/** Milliseconds of processor time of the children of a process that have ended. */
export async function endedChildrenMs(pid: number): Promise<number> {
  const [, , user = 0, system = 0] = await timesOf(pid);
  return (user + system) * TICK_MS;
}

/** User and system time of the process, then of its children that have ended, in ticks. */
async function timesOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return statFields(text).slice(11, 15).map(Number);
}
