import type { Db } from '../../shared/core/database/database-client.js';
import { isStartedOnce } from '../../shared/runs/store.js';
import { ABANDONED, type Attempt, NO_PROCESS, type ReplicaRow } from './rows.js';
import { recordExit } from './store.js';

const UNIQUE_VIOLATION = '23505';

/**
 * Claims a replica that waits to be started. Returns `taken` if another replica uses the port, and `lost` if the
 * replica no longer waits.
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

/** Records the process of a claimed replica. If this returns false, the caller must kill the process. */
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
 * Records the port of a starting replica. Returns false if the replica no longer starts or another replica uses the
 * port.
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

/** Takes over an attempt, unless the worker that started the attempt has already recorded its process. */
export async function abandonStart(db: Db, row: Pick<Attempt, 'id' | 'restarts'>): Promise<boolean> {
  const taken = await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting' })
    .where((either) => either.where({ pid: null }).orWhere({ pid: ABANDONED }))
    .update({ pid: ABANDONED, pid_started: '', updated_at: db.fn.now() });
  return taken === 1;
}

/** Returns true if another worker has taken over the attempt (`abandonStart`) and kills its processes. */
export async function isAbandoned(db: Db, { id, restarts }: Pick<Attempt, 'id' | 'restarts'>): Promise<boolean> {
  return (await db<ReplicaRow>('replicas').where({ id, restarts, pid: ABANDONED }).first('id')) !== undefined;
}

const INTERRUPTED = 'was ended when its worker or the platform ended, and is not started again';

/** Makes a replica start again after an interruption. A user's one-off command is never started again. */
export async function releaseReplica(db: Db, row: ReplicaRow): Promise<void> {
  if (row.run_id !== null && (await isStartedOnce(db, row.run_id))) return recordExit(db, row, INTERRUPTED);
  await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting' })
    .update({ state: 'pending', restarts: row.restarts + 1, ...NO_PROCESS, updated_at: db.fn.now() });
}
