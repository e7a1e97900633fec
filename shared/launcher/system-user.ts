import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface SystemUser {
  uid: number;
  gid: number;
}

/** Runs a short program, as this user if one is given, and returns its output. */
export async function runAs(user: SystemUser | undefined, command: string, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { ...user, cwd: '/', env: { PATH: process.env.PATH } });
  return stdout;
}

/**
 * Returns the user as whom PostgreSQL runs; undefined if this process is not root. PostgreSQL refuses to run as root.
 * The user is the owner of existing data, otherwise `postgres` or, if that does not exist, `nobody`.
 */
export async function postgresUser(dataOwner: SystemUser | null): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (dataOwner && dataOwner.uid !== 0) return dataOwner;
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find(([user]) => user === name) ?? [];
    // macOS writes the id of `nobody` as -2, which means 4294967294.
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  throw new Error(
    'PostgreSQL does not run as root, and this host has neither a user "postgres" nor "nobody": create one, or set DATABASE_URL',
  );
}
