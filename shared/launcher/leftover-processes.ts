import { createHash } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { beginningOf } from '../core/beginning-of.js';
import type { Logger } from '../core/log.js';
import { signalProcess } from '../core/signal-process.js';
import { runAs } from './system-user.js';

/** Time for leftover processes to end, because PostgreSQL may have to write a last checkpoint. */
const ORDERLY_END_MS = 10_000;
const POLL_INTERVAL_MS = 50;
const MAX_COMMAND_BYTES = 64 * 1024;

/**
 * Returns a folder's label. The shells that watch over the folder's processes have the label on their command line, so
 * that a later start finds them.
 */
export async function labelOf(folder: string): Promise<string> {
  const digest = createHash('sha256').update(await realpath(folder));
  return `ranvier-${digest.digest('hex').slice(0, 12)}`;
}

/** Stops processes with this label that an earlier run left behind. Throws if one cannot be killed. */
export async function endLeftovers(label: string, log: Logger): Promise<void> {
  const deadline = Date.now() + ORDERLY_END_MS;
  const found = await processesOf(label);
  if (found.length > 0) log.warn({ pids: found }, 'ending what an earlier run left behind');
  signal(found, 'SIGINT');
  for (let left = found; left.length > 0; left = await processesOf(label)) {
    if (Date.now() > deadline) signal(left, 'SIGKILL');
    if (Date.now() > deadline + ORDERLY_END_MS) throw new Error(`the processes ${left.join(', ')} cannot be ended`);
    await delay(POLL_INTERVAL_MS);
  }
}

async function processesOf(label: string): Promise<number[]> {
  const pids: number[] = [];
  for (const { pid, command } of process.platform === 'linux' ? await procCommands() : await psCommands()) {
    if (pid !== process.pid && command.includes(label)) pids.push(pid);
  }
  return pids;
}

interface Command {
  pid: number;
  command: string;
}

/** Reads /proc, because a minimal system has no `ps`. */
async function procCommands(): Promise<Command[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    names.map(async (name) => ({
      pid: Number(name),
      command: await beginningOf(`/proc/${name}/cmdline`, MAX_COMMAND_BYTES, 'latin1').catch(() => ''),
    })),
  );
}

async function psCommands(): Promise<Command[]> {
  const lines = (await runAs(undefined, 'ps', ['-axo', 'pid=,command='])).split('\n');
  return lines.map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
}

function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) signalProcess(pid, name);
}
