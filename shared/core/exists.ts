import { access, readFile } from 'node:fs/promises';

/** Returns false only if the system says that the path does not exist. An unreadable folder gives true. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );
}

/** Returns the result of `work`, or null if `work` fails because its path does not exist. */
export async function unlessAbsent<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export function readIfThere(path: string): Promise<string | null> {
  return unlessAbsent(readFile(path, 'utf8'));
}
