import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** A user of this host that a child can run as. */
export interface SystemUser {
  uid: number;
  gid: number;
}

/** Runs a short program to its end, as the user if one is given. Rejects with what it wrote on stderr. */
export async function runAs(user: SystemUser | undefined, command: string, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { ...user, cwd: '/', env: { PATH: process.env.PATH } });
  return stdout;
}

/**
 * Returns the user that PostgreSQL runs as, because it refuses to run as root. That is the owner of existing data, else `postgres`
 * or `nobody`, the first that exists. Undefined if this process is not root: the user stays the same.
 */
export async function postgresUser(dataOwner: SystemUser | null): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (dataOwner && dataOwner.uid !== 0) return dataOwner;
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find(([user]) => user === name) ?? [];
    // macOS writes nobody as -2.
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  throw new Error(
    'PostgreSQL does not run as root, and this host has neither a user "postgres" nor "nobody": create one, or set DATABASE_URL',
  );
}
