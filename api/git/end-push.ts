import type { ChildProcess } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { endChild } from '../../shared/core/limited-child.js';
import { statFields } from '../../shared/core/process-identity.js';
import { signalProcess } from '../../shared/core/signal-process.js';

/** Time for git to delete the objects of an aborted push. The time is long, because a host may be busy. */
const TIDIES_MS = 30_000;

/** Aborts a push by killing only its unpacking process, so that git deletes the objects of the push. */
export function endPush(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  unpackersOf(child.pid).then(
    (pids) => {
      for (const pid of pids) signalProcess(pid, 'SIGKILL');
      if (pids.length === 0) endChild(child);
      else setTimeout(() => endChild(child), TIDIES_MS).unref();
    },
    // Without /proc the unpacking process cannot be found, so all of git is killed.
    () => endChild(child),
  );
}

async function unpackersOf(group: number | undefined): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    if (Number(statFields(stat)[2]) !== group) continue;
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (/\0(index-pack|unpack-objects)\0/.test(command)) found.push(Number(name));
  }
  return found;
}
