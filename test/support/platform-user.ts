import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** PLATFORM_USER runs the platforms of all tests as this user, if the tests run as root; null without it. */
export const PLATFORM_USER = process.env.PLATFORM_USER ? Number(process.env.PLATFORM_USER) : null;

/** A user that no host has, for platforms that are not root. */
export const ORDINARY_USER = 61_236;

/** A command as this user runs it. */
export function commandOf(user: number | null, file: string, args: readonly string[]): [file: string, args: string[]] {
  if (user === null) return [file, [...args]];
  return ['setpriv', [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--', file, ...args]];
}

/** Gives a folder with all that is in it to this user. */
export async function giveTo(user: number | null, folder: string): Promise<void> {
  if (user !== null) await run('chown', ['-R', `${user}:${user}`, folder]);
}
