import type { Db } from '../../shared/core/database/client.js';
import { isStartedOnce } from '../../shared/runs/store.js';
import { ABANDONED, type Attempt, NO_PROCESS, type ReplicaRow } from './rows.js';
import { recordExit } from './store.js';

const UNIQUE_VIOLATION = '23505';

/**
 * Claims a replica that waits to be started, with the port it will listen on. `taken`: another replica has the port;
 * `lost`: the replica does not wait any more.
 */
export async function claimReplica(
  db: Db,
  row: ReplicaRow,
  port: number | null,
): Promise<'claimed' | 'taken' | 'lost'> {
  try {
    const claimed = await db<ReplicaRow>('replicas')
      .where({ id: row.id, restarts: row.restarts, desired: 'running' })
      .whereIn('state', ['pending', 'exited'])
      .update({
        state: 'starting',
        ...NO_PROCESS,
        port,
        given_port: port,
        task_id: null,
        log_since: null,
        next_start_at: null,
        started_at: db.fn.now(),
        updated_at: db.fn.now(),
      });
    return claimed === 1 ? 'claimed' : 'lost';
  } catch (error) {
    if ((error as { code?: string }).code === UNIQUE_VIOLATION) return 'taken';
    throw error;
  }
}

/**
 * Records the process of a claimed replica. `place` is its address and ports, if it has a network of its own. Returns false if
 * another worker has taken the claim: the caller must then end the process.
 */
export async function recordProcess(
  db: Db,
  row: Attempt,
  pid: number,
  startedAt: string,
  place?: Pick<ReplicaRow, 'address' | 'port' | 'given_port'>,
): Promise<boolean> {
  const updated = await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting', pid: null })
    .update({ pid, pid_started: startedAt, ...place, updated_at: db.fn.now() });
  return updated === 1;
}

/**
 * Records the port on which a starting replica was found to listen. Returns false if it does not start any more, or if another
 * replica of the host has the port.
 */
export async function recordPort(db: Db, row: Attempt, port: number): Promise<boolean> {
  try {
    const updated = await db<ReplicaRow>('replicas')
      .where({ id: row.id, restarts: row.restarts, state: 'starting' })
      .update({ port, updated_at: db.fn.now() });
    return updated === 1;
  } catch (error) {
    if ((error as { code?: string }).code === UNIQUE_VIOLATION) return false;
    throw error;
  }
}

/**
 * Takes over an attempt whose process is not recorded, so that the worker that began it cannot record it any more. Returns false if
 * that worker has recorded it, or if the attempt is over.
 */
export async function abandonStart(db: Db, row: Pick<Attempt, 'id' | 'restarts'>): Promise<boolean> {
  const taken = await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting' })
    .where((either) => either.where({ pid: null }).orWhere({ pid: ABANDONED }))
    .update({ pid: ABANDONED, pid_started: '', updated_at: db.fn.now() });
  return taken === 1;
}

const INTERRUPTED = 'was ended when its worker or the platform ended, and is not started again';

/**
 * Makes a replica whose start was interrupted (its worker crashed, or the platform ended) wait to be started as a new attempt. A command
 * that was given by hand is never started a second time: its attempt has ended.
 */
export async function releaseReplica(db: Db, row: ReplicaRow): Promise<void> {
  if (row.run_id !== null && (await isStartedOnce(db, row.run_id))) return recordExit(db, row, INTERRUPTED);
  await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting' })
    .update({ state: 'pending', restarts: row.restarts + 1, ...NO_PROCESS, updated_at: db.fn.now() });
}
