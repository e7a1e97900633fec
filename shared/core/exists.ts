import { access } from 'node:fs/promises';

/** False only if the system says that there is nothing at the path; an unreadable folder above it is no proof. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );
}
