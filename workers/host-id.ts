import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

export interface Host {
  /** Workers with the same DATA_DIR have the same id, because they share images, processes and caches. */
  id: string;
  name: string;
}

/** Returns this host's id, which is created once in DATA_DIR. */
export async function identifyHost(dataDir: string): Promise<Host> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const file = join(dataDir, 'host-id');
  const candidate = `${file}.${process.pid}`;
  await writeFile(candidate, randomUUID(), { mode: 0o600 });
  try {
    // A hard link cannot replace an existing file, so the id of the first worker is kept.
    await link(candidate, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(candidate, { force: true });
  }
  return { id: (await readFile(file, 'utf8')).trim(), name: hostname() };
}
