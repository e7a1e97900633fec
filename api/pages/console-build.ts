import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exists, readIfThere } from '../../shared/core/exists.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = join(ROOT, 'api/pages/console');

/** Contains a folder for each built version, and `current.json`, which names the version that the API serves. */
export const CONSOLE_FOLDER = join(ROOT, 'dist/console');
const CURRENT_FILE = join(CONSOLE_FOLDER, 'current.json');

export interface CurrentConsole {
  version: string;
  error: string | null;
}

async function consoleVersion(): Promise<string> {
  const paths = (await readdir(SOURCES, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash('sha256');
  for (const path of [...paths.sort(), join(ROOT, 'package-lock.json')]) {
    hash.update(`${relative(ROOT, path).split(sep).join('/')}\0`).update(await readFile(path));
  }
  return hash.digest('hex').slice(0, 20);
}

export async function readCurrent(): Promise<CurrentConsole | null> {
  const text = await readIfThere(CURRENT_FILE);
  return text === null ? null : (JSON.parse(text) as CurrentConsole);
}

/** Builds the console unless this version is already built. If the build fails, stores the error and throws it. */
export async function buildConsole(): Promise<{ version: string; built: boolean }> {
  const current = await readCurrent();
  // A released package contains the built console but no sources, so there is nothing to build.
  if (current !== null && !(await exists(SOURCES))) return { version: current.version, built: false };
  const version = await consoleVersion();
  if (current?.version === version && current.error === null) return { version, built: false };
  const fresh = join(CONSOLE_FOLDER, `.${version}.${process.pid}`);
  await mkdir(CONSOLE_FOLDER, { recursive: true });
  try {
    await runVite(fresh);
    await rename(fresh, join(CONSOLE_FOLDER, version)).catch((error: NodeJS.ErrnoException) => {
      // Another process built the version first.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    await writeCurrent({ version, error: null });
  } catch (error) {
    await writeCurrent({ version, error: error instanceof Error ? error.message : String(error) });
    throw error;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  await removeOthers(version);
  return { version, built: true };
}

async function runVite(outDir: string): Promise<void> {
  const { build } = await import('vite');
  await build({
    root: SOURCES,
    configFile: false,
    envFile: false,
    logLevel: 'error',
    base: '/',
    build: {
      outDir,
      emptyOutDir: true,
      manifest: 'manifest.json',
      // Inlined assets would need a weaker Content-Security-Policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      target: 'es2022',
    },
  });
}

async function writeCurrent(current: CurrentConsole): Promise<void> {
  const fresh = `${CURRENT_FILE}.${process.pid}`;
  await writeFile(fresh, JSON.stringify(current));
  await rename(fresh, CURRENT_FILE);
}

/**
 * Deletes the folders of other versions: API processes of these versions have the files in memory. A folder whose name
 * begins with a dot is kept, because another process is building in it.
 */
async function removeOthers(version: string): Promise<void> {
  for (const entry of await readdir(CONSOLE_FOLDER, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === version || entry.name.startsWith('.')) continue;
    await rm(join(CONSOLE_FOLDER, entry.name), { recursive: true, force: true });
  }
}
