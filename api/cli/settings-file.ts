import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError, EXIT } from './exit-codes.js';

/** A key of one workspace of one installation. */
export interface Login {
  url: string;
  workspaceId: string;
  workspaceName: string;
  email: string;
  key: string;
}

/** The service to which a folder is deployed. */
interface Link {
  url: string;
  workspaceId: string;
  serviceId: string;
}

export interface Settings {
  /** The last added one is first. */
  logins: Login[];
  /** Folder's real path → its link. Links are stored here, so that nothing is added to the user's repository. */
  links: Record<string, Link>;
}

export function settingsPath(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'ranvier', 'rnv.json');
}

/** Returns null if there is no file. `tooOpen` is true if other users could read the keys. */
export async function readSettings(path: string): Promise<{ settings: Settings; tooOpen: boolean }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { settings: { logins: [], links: {} }, tooOpen: false };
  }
  const { mode } = await stat(path);
  try {
    const { logins = [], links = {} } = JSON.parse(text) as Partial<Settings>;
    return { settings: { logins, links }, tooOpen: process.platform !== 'win32' && (mode & 0o077) !== 0 };
  } catch {
    throw new CliError(EXIT.usage, `${path} is not JSON; repair or delete it, then run rnv login`);
  }
}

/** Replaces the file in one step. Only its user can ever read it. */
export async function writeSettings(path: string, settings: Settings): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(settings, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
