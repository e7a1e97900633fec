import type { CommitFacts } from '../../shared/commits/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import { createPathFilter } from '../builders/files/path-filter.js';
import type { JobDeps } from '../worker-deps.js';

/** Returns the changed files and a filter for them. `changed` is null if there is no filter or a commit is unknown. */
export async function changedFiles(
  { source }: Pick<JobDeps, 'source'>,
  { includePaths, ignorePaths }: Pick<ServiceConfiguration, 'includePaths' | 'ignorePaths'>,
  commits: { url: string; before: string; after: string; signal: AbortSignal },
): Promise<Pick<CommitFacts, 'changed' | 'matters'>> {
  const isAsked = includePaths.length + ignorePaths.length > 0 && commits.before !== '';
  const changed = isAsked ? await source.changedPaths(commits) : null;
  return { changed, matters: createPathFilter(includePaths, ignorePaths) };
}
