import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { pullRefOf } from '../../sources/deployment-origin.js';
import type { RepositorySource } from '../../sources/repository-source.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import { readFiles } from '../reader/read-files.js';

export interface CheckoutOptions {
  source: RepositorySource;
  request: Pick<BuildRequest, 'repository' | 'commitSha' | 'configuration'>;
  /** An empty folder for the files. */
  directory: string;
  log: BuildContext['log'];
  signal: AbortSignal;
}

export interface CheckedOut {
  hasSubmodules: boolean;
}

/** Checks out the commit's files, and removes those that the path filters exclude. Throws `SourceError`. */
export async function checkOut({ source, request, directory, log, signal }: CheckoutOptions): Promise<CheckedOut> {
  const { repository, commitSha, configuration } = request;
  const pull = pullRefOf(configuration.branch);
  await source.checkout({ url: repository, sha: commitSha, directory, signal, ...pull });
  const { includePaths, ignorePaths } = configuration;
  if (includePaths.length + ignorePaths.length > 0) {
    const patterns = { include: includePaths, ignore: ignorePaths };
    const removed = await readFiles('filterPaths', { directory, ...patterns }, { signal });
    await log(`${removed} files are left out by includePaths and ignorePaths`);
  }
  // Uses `lstat`, because a link of this name may lead out of the repository.
  const hasSubmodules = (await lstat(join(directory, '.gitmodules')).catch(() => null))?.isFile() === true;
  if (hasSubmodules) await log('The repository has submodules; they are not part of the build', 'warn');
  return { hasSubmodules };
}
