import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError, EXIT } from './exit-codes.js';

export interface Login {
  url: string;
  workspaceId: string;
  workspaceName: string;
  email: string;
  key: string;
}

interface Link {
  url: string;
  workspaceId: string;
  serviceId: string;
}

export interface Settings {
  /** The API keys, newest first. The first one is the default. */
  logins: Login[];
  /** Real path of a folder → its service. Links are not stored in the folders, so that repositories stay unchanged. */
  links: Record<string, Link>;
}

export function settingsPath(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'ranvier', 'rnv.json');
}

/** Returns empty settings if the file does not exist. `tooOpen` is true if other users can read the keys. */
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

/** Replaces the settings file atomically. Other users can never read it. */
export async function writeSettings(path: string, settings: Settings): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const text = `${JSON.stringify(settings, null, 2)}\n`;
    await writeFile(temporary, text, { flag: 'wx', mode: 0o600, flush: true });
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
