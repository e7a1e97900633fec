import { v7 as uuidv7 } from 'uuid';
import { type Db, oneRow, rowsOf, type Transaction } from '../../shared/core/database/client.js';
import { CHANNELS } from '../../shared/core/database/listener.js';
import type { Attempt, ReplicaRow } from './rows.js';

/**
 * Attempts of runs. An attempt is a replica that is never ready and ends by itself, so that everything that keeps replicas through
 * the death of a worker keeps it too. It belongs to no generation of its release: it has the number of its run as position and
 * the negative number of the attempt as generation.
 */
export interface NewAttempt {
  runId: string;
  runNumber: number;
  attempt: number;
  serviceId: string;
  deploymentId: string;
  hostId: string;
}

/** Requests that the host carries out the attempt. Later calls for the same attempt change nothing. */
export async function wantAttempt(db: Db, input: NewAttempt): Promise<void> {
  await db.transaction(async (trx) => {
    // Two unique constraints name an attempt. If several workers want it at once, either may be noticed first.
    await trx.raw(
      `insert into replicas (id, service_id, deployment_id, host_id, generation, position, run_id, run_attempt)
       values (:id, :serviceId, :deploymentId, :hostId, -cast(:attempt as integer), :runNumber, :runId, :attempt)
       on conflict do nothing`,
      { id: uuidv7(), ...input },
    );
    await trx.raw('select pg_notify(?, ?)', [CHANNELS.replica, input.hostId]);
  });
}

/** An attempt of a run; null before it was wanted. */
export function findAttempt(db: Db, runId: string, attempt: number): Promise<ReplicaRow | null> {
  return oneRow<ReplicaRow>(db, 'select * from replicas where run_id = :runId and run_attempt = :attempt', {
    runId,
    attempt,
  });
}

/** Records how an attempt ended, after all its output is in the log. It is not started again. */
export async function recordAttemptEnd(
  db: Db,
  row: Attempt,
  { detail, exitCode }: { detail: string; exitCode: number | null },
): Promise<void> {
  await db.transaction(async (trx) => {
    const ended = await trx<ReplicaRow>('replicas')
      .where({ id: row.id, restarts: row.restarts })
      .whereIn('state', ['pending', 'starting'])
      .update({
        state: 'exited',
        pid: null,
        pid_started: null,
        exit_detail: detail,
        exit_code: exitCode,
        next_start_at: null,
        updated_at: trx.fn.now(),
      });
    if (ended > 0) await trx.raw('select pg_notify(?, ?)', [CHANNELS.replica, row.host_id]);
  });
}

/** Requests that a run's attempts stop: their processes get TERM and, after the grace period, KILL; then their files are removed. */
export async function stopAttempts(trx: Transaction, runId: string): Promise<void> {
  const rows = await rowsOf<{ host_id: string }>(
    trx,
    `update replicas set desired = 'stopped', updated_at = now()
      where run_id = :runId and desired = 'running' and state <> 'stopped' returning host_id`,
    { runId },
  );
  for (const hostId of new Set(rows.map((row) => row.host_id))) {
    await trx.raw('select pg_notify(?, ?)', [CHANNELS.replica, hostId]);
  }
}

/** How many attempts of a run are not stopped yet. */
export async function countAttempts(db: Db, runId: string): Promise<number> {
  const row = await oneRow<{ count: number }>(
    db,
    `select count(*) as count from replicas where run_id = :runId and state <> 'stopped'`,
    { runId },
  );
  return row?.count ?? 0;
}
