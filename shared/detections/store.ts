import { countOf, type Db, lockUntilCommit, type Transaction } from '../core/database/database-client.js';
import { DETECTION_TIMEOUT_MS, type Detection, type DetectionRow } from './model.js';

/** Only the request that created a detection reads it. */
const KEPT_MINUTES = 30;

/** Stores a detection, which is due immediately. */
export async function insertDetection(
  trx: Transaction,
  row: Pick<DetectionRow, 'id' | 'workspace_id' | 'sealed_repository' | 'branch' | 'root_directory'>,
): Promise<void> {
  await trx<DetectionRow>('detections').insert({ ...row, dispatches: 1, due_at: trx.fn.now() });
}

/**
 * Counts a workspace's detections that have neither finished nor timed out. Takes a lock, so that concurrent requests
 * wait for the commit.
 */
export async function countUnderWay(trx: Transaction, workspaceId: string): Promise<number> {
  await lockUntilCommit(trx, `ranvier.detections:${workspaceId}`);
  return countOf(
    trx,
    `select count(*) from detections
      where workspace_id = :workspaceId and finished_at is null
        and created_at > now() - :longest * interval '1 millisecond'`,
    { workspaceId, longest: DETECTION_TIMEOUT_MS },
  );
}

export async function findDetection(db: Db, id: string): Promise<DetectionRow | undefined> {
  return db<DetectionRow>('detections').where({ id }).first();
}

/** Stores the result of a detection, or why there is none. Returns false if the detection is already finished. */
export async function finishDetection(
  db: Db,
  id: string,
  answer: { result: Detection } | { error: string },
): Promise<boolean> {
  const values = 'result' in answer ? { result: JSON.stringify(answer.result) } : { error: answer.error };
  const updated = await db('detections')
    .where({ id })
    .whereNull('finished_at')
    .update({ ...values, finished_at: db.fn.now() });
  return updated > 0;
}

/** Deletes detections older than `KEPT_MINUTES`. Returns their number. */
export async function deleteOldDetections(db: Db): Promise<number> {
  return db('detections').whereRaw(`created_at < now() - ? * interval '1 minute'`, [KEPT_MINUTES]).delete();
}
