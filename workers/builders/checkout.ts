import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../folders.js';
import type { RepositorySource } from '../sources/source.js';
import type { BuildContext, BuildRequest } from './builder.js';
import { createPathFilter } from './path-filter.js';

export interface CheckoutOptions {
  source: RepositorySource;
  request: Pick<BuildRequest, 'repository' | 'commitSha' | 'configuration'>;
  /** An empty folder. */
  directory: string;
  log: BuildContext['log'];
  signal: AbortSignal;
}

/** The commit's files, without those that the path filters leave out. Throws `SourceError`. */
export async function checkOut({ source, request, directory, log, signal }: CheckoutOptions): Promise<void> {
  const { repository, commitSha, configuration } = request;
  await source.checkout({ url: repository, sha: commitSha, directory, signal });
  const { includePaths, ignorePaths } = configuration;
  if (includePaths.length + ignorePaths.length > 0) {
    const filter = createPathFilter(includePaths, ignorePaths);
    const removed = await removeFiles(directory, '', (path) => !filter.keeps(path));
    await log(`${removed} files are left out by includePaths and ignorePaths`);
  }
  if (await exists(join(directory, '.gitmodules'))) {
    await log('The repository has submodules; they are not part of the build', 'warn');
  }
}

/** Removes files below a folder, and folders that this empties; returns how many files it removed. */
async function removeFiles(root: string, folder: string, isUnwanted: (path: string) => boolean): Promise<number> {
  let removed = 0;
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  let left = entries.length;
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      removed += await removeFiles(root, path, isUnwanted);
      if (!(await exists(join(root, path)))) left -= 1;
    } else if (isUnwanted(path)) {
      await rm(join(root, path), { force: true });
      removed += 1;
      left -= 1;
    }
  }
  if (left === 0 && folder !== '') await rm(join(root, folder), { recursive: true });
  return removed;
}
