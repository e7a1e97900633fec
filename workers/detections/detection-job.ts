import { realpath } from 'node:fs/promises';
import { DETECTION_TIMEOUT_MS } from '../../shared/detections/model.js';
import { findDetection, finishDetection } from '../../shared/detections/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { readFiles } from '../builders/reader/read-files.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { JobDeps } from '../worker-deps.js';
import { readRepository } from './read-repository.js';

/** Plans a repository's build as a deployment would, but runs no command. Of several runs, the first result counts. */
export async function detectionJob(
  deps: JobDeps,
  { detectionId }: Payloads['detection'],
  helpers: Pick<JobHelpers, 'signal' | 'lastAttempt'>,
): Promise<string> {
  const { db, keyring, config } = deps;
  const row = await findDetection(db, detectionId);
  if (row === undefined || row.finished_at !== null) return 'answered already';
  const question = {
    id: row.id,
    workspaceId: row.workspace_id,
    repository: openFrom(keyring, SEALED.detectionRepository, row.id, row.sealed_repository),
    branch: row.branch,
    timeoutMs: DETECTION_TIMEOUT_MS,
  };
  const answer = await readRepository(deps, question, helpers, async ({ app }, { sha, defaultBranch }, signal) => {
    const input = {
      app: await realpath(app),
      rootDirectory: row.root_directory,
      containers: config.runtime === 'swarm',
    };
    const detected = await readFiles('detect', input, { signal });
    return { branch: defaultBranch ?? row.branch, commitSha: sha, ...detected };
  });
  if ('error' in answer) {
    await finishDetection(db, row.id, answer);
    return 'refused';
  }
  await finishDetection(db, row.id, { result: answer.found });
  return answer.found.framework ?? answer.found.runtime;
}
