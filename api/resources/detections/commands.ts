import { setTimeout as delay } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import type { Db, Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { type Detection, MAX_UNDER_WAY } from '../../../shared/detections/model.js';
import { countUnderWay, findDetection, insertDetection } from '../../../shared/detections/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import { SEALED, sealIn } from '../../../shared/secrets/sealed-columns.js';
import { repositoryProblem } from '../../../shared/services/service-source.js';

export interface DetectionInput {
  workspaceId: string;
  repository: string;
  branch: string;
  rootDirectory: string;
}

/**
 * Queues a detection for a worker, and returns its id. Throws source_invalid for an invalid repository address, and
 * capacity_exceeded if too many detections are under way.
 */
export async function askForDetection(trx: Transaction, deps: CommandDeps, input: DetectionInput): Promise<string> {
  const problem = repositoryProblem(input.repository, deps.config.allowLocalRepositories);
  if (problem !== null) throw new AppError('source_invalid', problem);
  if ((await countUnderWay(trx, input.workspaceId)) >= MAX_UNDER_WAY) {
    throw new AppError(
      'capacity_exceeded',
      `${MAX_UNDER_WAY} detections of this workspace are under way; wait for one to end`,
    );
  }
  const id = uuidv7();
  await insertDetection(trx, {
    id,
    workspace_id: input.workspaceId,
    sealed_repository: sealIn(deps.keyring, SEALED.detectionRepository, id, input.repository),
    branch: input.branch,
    root_directory: input.rootDirectory,
  });
  return id;
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;

/**
 * Waits up to `withinMs` milliseconds for a result. Throws source_invalid if the detection failed, and
 * engine_unavailable after the timeout.
 */
export async function detectionOf(db: Db, id: string, withinMs: number): Promise<Detection> {
  const deadline = Date.now() + withinMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)) {
    const row = await findDetection(db, id);
    if (row === undefined || row.error !== null) throw new AppError('source_invalid', row?.error ?? undefined);
    if (row.result !== null) return row.result;
    if (Date.now() + pauseMs > deadline) {
      const seconds = Math.round(withinMs / 1000);
      throw new AppError('engine_unavailable', `no worker has looked at the repository within ${seconds} s; try again`);
    }
    await delay(pauseMs);
  }
}
