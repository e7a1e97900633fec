import { errorMessage } from '../../shared/core/error-registry.js';
import { credentialsOf, repositoryProblem } from '../../shared/services/service-source.js';
import { addressForWorkspace } from '../../shared/ssh/model.js';
import { type BuildFolder, openBuildFolder } from '../builders/build-folder.js';
import { discardTree } from '../core/remove-folders.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { BuildError, SourceError } from '../failures/explained-errors.js';
import { Masker } from '../masking/masker.js';
import type { ResolvedCommit } from '../sources/repository-source.js';
import type { JobDeps } from '../worker-deps.js';

export interface RepositoryQuestion {
  id: string;
  workspaceId: string;
  /** The repository's URL, which may contain credentials. */
  repository: string;
  branch: string;
  timeoutMs: number;
}

/** Checks out a repository and calls `read`. Runs none of its code. Rejects if the job must be retried. */
export async function readRepository<T>(
  deps: JobDeps,
  { id, workspaceId, repository, branch, timeoutMs }: RepositoryQuestion,
  { signal, lastAttempt }: Pick<JobHelpers, 'signal' | 'lastAttempt'>,
  read: (folder: BuildFolder, commit: ResolvedCommit, signal: AbortSignal) => Promise<T>,
): Promise<{ found: T } | { error: string }> {
  const { config, log } = deps;
  const late = AbortSignal.timeout(timeoutMs);
  const either = AbortSignal.any([signal, late]);
  try {
    const problem = repositoryProblem(repository, config.allowLocalRepositories);
    if (problem !== null) throw new SourceError(problem);
    const url = addressForWorkspace(repository, workspaceId);
    const commit = await deps.source.resolve({ url, ref: branch, signal: either });
    const folder = await openBuildFolder(config.dataDir, `read-${id}-${Date.now()}`);
    try {
      await deps.source.checkout({ url, sha: commit.sha, directory: folder.app, signal: either });
      return { found: await read(folder, commit, either) };
    } finally {
      await discardTree({ dataDir: config.dataDir, log }, folder.path);
    }
  } catch (error) {
    signal.throwIfAborted();
    const explained = error instanceof SourceError || error instanceof BuildError;
    if (!explained && !late.aborted && !lastAttempt) throw error;
    if (!explained && !late.aborted) log.error({ err: error, id }, 'reading a repository failed');
    const reason = late.aborted
      ? `reading the repository took longer than ${timeoutMs / 1000} s`
      : explained
        ? errorMessage(error)
        : 'the repository could not be read because of a fault of the platform; try again';
    return { error: new Masker(credentialsOf(repository)).mask(reason) };
  }
}
