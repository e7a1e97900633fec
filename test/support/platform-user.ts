import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The user id of all platforms, if PLATFORM_USER is set; null if not. Requires that the tests run as root. */
export const PLATFORM_USER = process.env.PLATFORM_USER ? Number(process.env.PLATFORM_USER) : null;

/** A user id that no user of the machine has, for platforms that do not run as root. */
export const ORDINARY_USER = 61_236;

/** Returns the command line that runs a command as this user; as the tests' user if null. */
export function commandOf(user: number | null, file: string, args: readonly string[]): [file: string, args: string[]] {
  if (user === null) return [file, [...args]];
  return ['setpriv', [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--', file, ...args]];
}

export async function giveTo(user: number | null, folder: string): Promise<void> {
  if (user !== null) await run('chown', ['-R', `${user}:${user}`, folder]);
}
