import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { leftBuildFolders, ownedReplicas } from '../chaos/chaos-target.js';
import { afterSweeps, type Entry, listFolder } from '../chaos/entries.js';
import { networkEntries } from '../chaos/network-entries.js';
import type { Platform } from '../support/platform.js';
import type { OrdinaryTenant } from './ordinary-tenant.js';

const MAX_MEMORY_RATIO = 1.5;
const MAX_TIME_RATIO = 2;
/** Growth up to this size is no leak: a runtime keeps freed memory for a while. */
const SPARE_KB = 64 * 1024;

/** Returns the memory of the platform's processes in KB, by process name and id. Empty except on Linux. */
export async function memoryOf({ processes }: Platform): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const { name, child, ended } of processes) {
    const status = ended ? '' : await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const used = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
    if (used !== undefined) found.set(`${name} ${child.pid}`, Number(used));
  }
  return found;
}

/** Returns what the attack did that it must not do, one entry each. The platform must be idle. */
export async function balance(
  platform: Platform,
  ordinary: OrdinaryTenant,
  memoryBefore: ReadonlyMap<string, number>,
): Promise<Entry[]> {
  const { dataDir, processes } = platform;
  const { answered, failures } = await ordinary.visits();
  const owned = await ownedReplicas(platform);
  return [
    {
      what: 'processes of the platform that ended',
      counted: processes.length,
      wrong: processes.filter((process) => process.ended).map(({ name, output }) => `${name}: ${output.slice(-500)}`),
    },
    { what: 'visits of an ordinary service that failed', counted: answered, wrong: failures.map(({ what }) => what) },
    {
      what: 'deployments of an ordinary service that failed',
      counted: ordinary.durations.attacked.length,
      wrong: ordinary.failures,
    },
    deploymentTimes(ordinary),
    await afterSweeps('memory of the platform after the attack', async () => {
      const now = await memoryOf(platform);
      const grown = [...memoryBefore].filter(
        ([name, kb]) => (now.get(name) ?? 0) > Math.max(kb * MAX_MEMORY_RATIO, kb + SPARE_KB),
      );
      return { counted: now.size, wrong: grown.map(([name, kb]) => `${name}: ${now.get(name)} KB, ${kb} KB before`) };
    }),
    await afterSweeps('build folders left', async () => leftBuildFolders([dataDir])),
    await afterSweeps('folders that no replica owns', async () => {
      const folders = await listFolder(join(dataDir, 'replicas'));
      return { counted: folders.length, wrong: folders.filter((name) => !owned.includes(name)) };
    }),
    await networkEntries(platform),
    await afterSweeps('folders of sandboxes that no replica owns', async () => {
      const folders = await listFolder(join(dataDir, 'sandboxes'));
      return { counted: folders.length, wrong: folders.filter((name) => !owned.some((id) => name.includes(id))) };
    }),
    await afterSweeps('processes that no replica owns', async () => {
      const marks = [...(await markedProcesses(await platform.sandboxToken()))];
      const stray = marks.filter(([, mark]) => !owned.some((id) => mark.includes(id)));
      return { counted: marks.length, wrong: stray.map(([pid, mark]) => `${pid} ${mark}`) };
    }),
    await afterSweeps('mounts left on the host', async () => {
      const mounts = (await readFile('/proc/self/mounts', 'utf8').catch(() => '')).split('\n');
      return { counted: 0, wrong: mounts.filter((line) => line.includes(dataDir)) };
    }),
  ];
}

/** With fewer deployments than this, the median depends more on the machine than on the attack. */
const ENOUGH_TO_JUDGE = 20;

function deploymentTimes({ durations: { quiet, attacked } }: OrdinaryTenant): Entry {
  const [before, during] = [median(quiet), median(attacked)];
  const figures = `${during} ms in the median, ${before} ms before the attack`;
  if (attacked.length > 0 && attacked.length < ENOUGH_TO_JUDGE) {
    return { what: `deployments under attack: ${figures} (too few to judge)`, counted: attacked.length, wrong: [] };
  }
  const slow = attacked.length === 0 || during > MAX_TIME_RATIO * before;
  return {
    what: 'deployments under attack, twice as slow at most',
    counted: attacked.length,
    wrong: slow ? [figures] : [],
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}
