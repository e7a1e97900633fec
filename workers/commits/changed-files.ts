import type { CommitFacts } from '../../shared/commits/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import { createPathFilter } from '../builders/files/path-filter.js';
import type { JobDeps } from '../worker-deps.js';

/**
 * Returns the files that differ between two commits. Also returns `matters`, which applies a service's path filters to
 * a file. `changed` is null if the service has no path filters, or if a commit is unknown.
 */
export async function changedFiles(
  { source }: Pick<JobDeps, 'source'>,
  { includePaths, ignorePaths }: Pick<ServiceConfiguration, 'includePaths' | 'ignorePaths'>,
  commits: { url: string; before: string; after: string; signal: AbortSignal },
): Promise<Pick<CommitFacts, 'changed' | 'matters'>> {
  const isAsked = includePaths.length + ignorePaths.length > 0 && commits.before !== '';
  const changed = isAsked ? await source.changedPaths(commits) : null;
  return { changed, matters: createPathFilter(includePaths, ignorePaths) };
}
