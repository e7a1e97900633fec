import { stat } from 'node:fs/promises';
import { OWN_PATH } from '../../core/own-programs.js';
import type { Tool } from '../toolchains/required-tool.js';

/** A successful check of tools is valid for this time, unless a program is installed or removed earlier. */
const VALID_MS = 10 * 60_000;
const MAX_KNOWN = 200;

/** Key → when a check of tools succeeded, in milliseconds since the epoch. */
const found = new Map<string, number>();

/** Returns a key for a check of tools. It contains times of folders, which change if a program is added or removed. */
export async function checkKey(tools: readonly Tool[], provided: readonly string[] = []): Promise<string> {
  const times = await Promise.all(
    OWN_PATH.split(':').map((folder) =>
      stat(folder).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return JSON.stringify([tools.map(({ check }) => check), provided, times]);
}

/** Returns true if the check of tools with this key has succeeded within the last ten minutes. */
export function isKnown(key: string, now: number): boolean {
  return now - (found.get(key) ?? Number.NEGATIVE_INFINITY) < VALID_MS;
}

/** Records that the check of tools with this key has succeeded. */
export function remember(key: string, now: number): void {
  if (found.size >= MAX_KNOWN) found.clear();
  found.set(key, now);
}
