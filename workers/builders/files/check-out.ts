import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { pullRefOf } from '../../sources/deployment-origin.js';
import type { RepositorySource } from '../../sources/repository-source.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import { readFiles } from '../reader/read-files.js';
import type { TimeLimit } from '../steps/build-time-limit.js';

/**
 * Checks out the commit's files without those that path filters exclude. Returns the context, to which it adds whether
 * the repository has submodules. Throws `SourceError` or `BuildError`.
 */
export function checkOut(
  source: RepositorySource,
  directory: string,
  { repository, commitSha, configuration }: BuildRequest,
  context: BuildContext,
  limit: TimeLimit,
): Promise<BuildContext> {
  return limit.within('the checkout', async () => {
    const { signal } = limit;
    const pull = pullRefOf(configuration.branch);
    await source.checkout({ url: repository, sha: commitSha, directory, signal, ...pull });
    const { includePaths: include, ignorePaths: ignore } = configuration;
    if (include.length + ignore.length > 0) {
      const removed = await readFiles('filterPaths', { directory, include, ignore }, { signal });
      await context.log(`${removed} files are left out by includePaths and ignorePaths`);
    }
    // Uses `lstat`, because a link of this name may lead out of the repository.
    const hasSubmodules = (await lstat(join(directory, '.gitmodules')).catch(() => null))?.isFile() === true;
    if (hasSubmodules) await context.log('The repository has submodules; they are not part of the build', 'warn');
    return { ...context, hasSubmodules };
  });
}
