import { realpath } from 'node:fs/promises';
import { errorMessage } from '../../shared/core/error-registry.js';
import { DETECTION_TIMEOUT_MS } from '../../shared/detections/model.js';
import { findDetection, finishDetection } from '../../shared/detections/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { credentialsOf, repositoryProblem } from '../../shared/services/service-source.js';
import { addressForWorkspace } from '../../shared/ssh/model.js';
import { openBuildFolder } from '../builders/build-folder.js';
import { readFiles } from '../builders/reader/read-files.js';
import { discardTree } from '../core/remove-folders.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { BuildError, SourceError } from '../failures/explained-errors.js';
import { Masker } from '../masking/masker.js';
import type { JobDeps } from '../worker-deps.js';

/**
 * Handles the queue `detection`: checks the repository out and plans its build as a deployment would.
 * No command of the repository runs. The job may run twice for one record; the first answer counts.
 */
export async function detectionJob(
  deps: JobDeps,
  { detectionId }: Payloads['detection'],
  { signal, lastAttempt }: Pick<JobHelpers, 'signal' | 'lastAttempt'>,
): Promise<string> {
  const { db, keyring, config, log } = deps;
  const row = await findDetection(db, detectionId);
  if (row === undefined || row.finished_at !== null) return 'answered already';
  const repository = openFrom(keyring, SEALED.detectionRepository, row.id, row.sealed_repository);
  const masker = new Masker(credentialsOf(repository));
  const late = AbortSignal.timeout(DETECTION_TIMEOUT_MS);
  const either = AbortSignal.any([signal, late]);
  try {
    const problem = repositoryProblem(repository, config.allowLocalRepositories);
    if (problem !== null) throw new SourceError(problem);
    const url = addressForWorkspace(repository, row.workspace_id);
    const { sha, defaultBranch } = await deps.source.resolve({ url, ref: row.branch, signal: either });
    const folder = await openBuildFolder(config.dataDir, `detection-${row.id}-${Date.now()}`);
    try {
      await deps.source.checkout({ url, sha, directory: folder.app, signal: either });
      const input = {
        app: await realpath(folder.app),
        rootDirectory: row.root_directory,
        containers: config.runtime === 'swarm',
      };
      const found = await readFiles('detect', input, { signal: either });
      await finishDetection(db, row.id, { result: { branch: defaultBranch ?? row.branch, commitSha: sha, ...found } });
      return found.framework ?? found.runtime;
    } finally {
      await discardTree({ dataDir: config.dataDir, log }, folder.path);
    }
  } catch (error) {
    signal.throwIfAborted();
    const explained = error instanceof SourceError || error instanceof BuildError;
    if (!explained && !late.aborted && !lastAttempt) throw error;
    if (!explained && !late.aborted) log.error({ err: error, detectionId }, 'a detection failed');
    const reason = late.aborted
      ? `reading the repository took longer than ${DETECTION_TIMEOUT_MS / 1000} s`
      : explained
        ? errorMessage(error)
        : 'the repository could not be read because of a fault of the platform; try again';
    await finishDetection(db, row.id, { error: masker.mask(reason) });
    return 'refused';
  }
}
