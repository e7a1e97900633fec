import { readFile } from 'node:fs/promises';
import { testPostgresPid } from '../support/postgres.js';
import { endedChildrenMs, processorMs } from '../support/processor-time.js';

/** Returns the processor time of the test PostgreSQL, ended processes included, in milliseconds. */
export async function postgresMs(): Promise<number> {
  const pid = testPostgresPid();
  const ended = await endedChildrenMs(pid);
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  const alive = await Promise.all(children.map((child) => processorMs(Number(child))));
  return alive.reduce((sum, ms) => sum + ms, ended + (await processorMs(pid)));
}
