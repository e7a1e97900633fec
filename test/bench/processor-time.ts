import { readFile } from 'node:fs/promises';
import { statFields } from '../../shared/core/process-identity.js';
import { testPostgresPid } from '../support/postgres.js';

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

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

/** Milliseconds of processor time that the PostgreSQL of this run has used: its processes, and those that have ended. */
export async function postgresMs(): Promise<number> {
  const pid = testPostgresPid();
  const ended = await endedChildrenMs(pid);
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  const alive = await Promise.all(children.map((child) => processorMs(Number(child))));
  return alive.reduce((sum, ms) => sum + ms, ended + (await processorMs(pid)));
}

/** User and system time of the process, then of its children that have ended, in ticks. */
async function timesOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return statFields(text).slice(11, 15).map(Number);
}
