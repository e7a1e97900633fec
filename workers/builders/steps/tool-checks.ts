import { stat } from 'node:fs/promises';
import { OWN_PATH } from '../../core/own-programs.js';
import type { Tool } from '../toolchains/required-tool.js';

/** After this time, in milliseconds, a check is repeated even if no program was installed or removed. */
const VALID_MS = 10 * 60_000;
const MAX_KNOWN = 200;

/** The tools that were found on this host: what was checked → when. */
const found = new Map<string, number>();

/**
 * Returns a key for a check of tools and the state of the host on which its result depends.
 * Installing or removing a program changes the time of its folder. `provided` are the folders of tools that the
 * platform installed for the build.
 */
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

/** Returns true if the check has succeeded recently. */
export function isKnown(key: string, now: number): boolean {
  return now - (found.get(key) ?? Number.NEGATIVE_INFINITY) < VALID_MS;
}

/** Remembers that the check has succeeded. */
export function remember(key: string, now: number): void {
  if (found.size >= MAX_KNOWN) found.clear();
  found.set(key, now);
}
