import { v7 as uuidv7 } from 'uuid';
import { type Db, oneRow, rowsOf, type Transaction } from '../../shared/core/database/database-client.js';
import type { ReplicaRow } from './rows.js';
import { notifyHost } from './store.js';

/**
 * An attempt of a run is stored as a replica, so that it survives the death of its worker. The replica's generation is
 * the attempt's number with a minus sign.
 */
export interface NewAttempt {
  runId: string;
  runNumber: number;
  attempt: number;
  serviceId: string;
  deploymentId: string;
  hostId: string;
}

/** Requests that the host runs the attempt. Repeated calls for the same attempt change nothing. */
export async function wantAttempt(db: Db, input: NewAttempt): Promise<void> {
  await db.transaction(async (trx) => {
    // Two unique constraints cover an attempt. Workers that insert the attempt at the same time may violate either
    // constraint.
    await trx.raw(
      `insert into replicas (id, service_id, deployment_id, host_id, generation, position, run_id, run_attempt)
       values (:id, :serviceId, :deploymentId, :hostId, -cast(:attempt as integer), :runNumber, :runId, :attempt)
       on conflict do nothing`,
      { id: uuidv7(), ...input },
    );
    await notifyHost(trx, input.hostId);
  });
}

export function findAttempt(db: Db, runId: string, attempt: number): Promise<ReplicaRow | null> {
  return oneRow<ReplicaRow>(db, 'select * from replicas where run_id = :runId and run_attempt = :attempt', {
    runId,
    attempt,
  });
}

/** Requests that a run's attempts stop. */
export async function stopAttempts(trx: Transaction, runId: string): Promise<void> {
  const rows = await rowsOf<{ host_id: string }>(
    trx,
    `update replicas set desired = 'stopped', updated_at = now()
      where run_id = :runId and desired = 'running' and state <> 'stopped' returning host_id`,
    { runId },
  );
  for (const hostId of new Set(rows.map((row) => row.host_id))) await notifyHost(trx, hostId);
}

/** Returns how many attempts of a run are not stopped yet. */
export async function countAttempts(db: Db, runId: string): Promise<number> {
  const row = await oneRow<{ count: number }>(
    db,
    `select count(*) as count from replicas where run_id = :runId and state <> 'stopped'`,
    { runId },
  );
  return row?.count ?? 0;
}
