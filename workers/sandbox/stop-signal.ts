import { readFile, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { unlessAbsent } from '../../shared/core/exists.js';

/** The lowest real-time signal that programs can use, and the highest signal. */
const RTMIN = 34;
const RTMAX = 64;

/** Parses an image's STOPSIGNAL: `SIGQUIT`, `QUIT`, `3`, `SIGRTMIN+3`. Returns null if it is invalid. */
export function signalNumber(text: string): number | null {
  const name = text.trim().toUpperCase();
  const [, steps] = /^(?:SIG)?RTMIN(?:\+(\d{1,2}))?$/.exec(name) ?? [];
  const number = /^(?:SIG)?RTMIN/.test(name) ? RTMIN + Number(steps ?? 0) : /^\d+$/.test(name) ? Number(name) : null;
  if (number !== null) return number >= 1 && number <= RTMAX ? number : null;
  const signals: Readonly<Record<string, number>> = constants.signals;
  return signals[name.startsWith('SIG') ? name : `SIG${name}`] ?? null;
}

/** Returns the file in which conmon records the pid of a container. */
export function pidFileOf(scratch: string): string {
  return join(scratch, 'pid');
}

/** Records the stop signal of a container for every worker on this host. */
export async function noteStopSignal(scratch: string, signal: string | undefined): Promise<void> {
  const number = signal === undefined ? null : signalNumber(signal);
  if (number !== null) await writeFile(join(scratch, 'stop-signal'), String(number), { mode: 0o600 });
}

/** Returns the process to signal and the container's stop signal; null if SIGTERM is to be used. */
export async function stopRequest(scratch: string): Promise<{ pid: number; signal: number } | null> {
  const signal = await unlessAbsent(readFile(join(scratch, 'stop-signal'), 'utf8'));
  if (signal === null) return null;
  const pid = await unlessAbsent(readFile(pidFileOf(scratch), 'utf8'));
  return pid === null || !/^\d+\s*$/.test(pid) ? null : { pid: Number(pid), signal: Number(signal) };
}
