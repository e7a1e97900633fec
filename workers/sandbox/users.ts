import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Far above the users of a host and below the 16-bit ranges that user namespaces are usually given. */
const FIRST_UID = 300_000;

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The unprivileged user, and group, that builds and runs a service where the platform is root. */
export function uidOf(userNumber: number): number {
  return FIRST_UID + userNumber;
}

/** Gives a folder and all below it to the user of a service; links are never followed. Nothing to do without root. */
export async function ownDirectory(path: string, userNumber: number): Promise<void> {
  if (!isRoot()) return;
  const uid = uidOf(userNumber);
  await run('chown', ['-hR', '--', `${uid}:${uid}`, path]);
}
