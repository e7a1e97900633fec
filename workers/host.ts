import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

export interface Host {
  /** One DATA_DIR is one host: its workers share images, processes and caches. */
  id: string;
  name: string;
}

/** This host's identity, made once and kept in DATA_DIR; two workers that start together agree on it. */
export async function identifyHost(dataDir: string): Promise<Host> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const file = join(dataDir, 'host-id');
  const candidate = `${file}.${process.pid}`;
  await writeFile(candidate, randomUUID(), { mode: 0o600 });
  try {
    // A link is made only where none is: the first worker's name stands.
    await link(candidate, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(candidate, { force: true });
  }
  return { id: (await readFile(file, 'utf8')).trim(), name: hostname() };
}
