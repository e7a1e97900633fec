import { v7 as uuidv7 } from 'uuid';
import { type Db, lockUntilCommit, type Transaction } from '../../shared/core/database/database-client.js';
import type { ReplicaRow } from './rows.js';
import { notifyHost, updateServiceHealth } from './store.js';

/**
 * Replacements of replicas that fail their health check. Each function does nothing if the replicas have changed since
 * the caller read them. Otherwise, it runs `log` in the same transaction and returns true.
 */

type Logged = (trx: Transaction) => Promise<void>;

/** Added to the position of a failing replica or of its replacement, because positions are unique. */
const SPARE = 1000;

/** Requests a new replica next to a failing one. */
export function beginReplacement(db: Db, failing: ReplicaRow, log: Logged): Promise<boolean> {
  return inOrder(db, failing, log, async (trx) => {
    if (!(await stillFailing(trx, failing)) || !(await freeSpare(trx, failing))) return false;
    await trx<ReplicaRow>('replicas').insert({ ...fresh(failing), position: spareOf(failing), replaces: failing.id });
    return true;
  });
}

/** Replaces the failing replica with the new, healthy one, and stops the failing one. */
export function finishReplacement(db: Db, failing: ReplicaRow, successor: ReplicaRow, log: Logged): Promise<boolean> {
  return inOrder(db, failing, log, async (trx) => {
    const wanted = { desired: 'running' } as const;
    const ready = { ...wanted, id: successor.id, replaces: failing.id, state: 'ready' } as const;
    const [row] = await trx<ReplicaRow>('replicas').where(ready).forUpdate().select('position');
    if (!row) return false;
    // Positions are unique, so the failing replica has a negative position while the two replicas swap positions.
    const left = await trx<ReplicaRow>('replicas')
      .where({ ...wanted, id: failing.id })
      .update({ position: -failing.position, desired: 'stopped', updated_at: trx.fn.now() });
    if (left === 0) return false;
    await trx<ReplicaRow>('replicas')
      .where({ id: successor.id })
      .update({ position: failing.position, replaces: null, replacements: failing.replacements + 1 });
    await trx<ReplicaRow>('replicas').where({ id: failing.id }).update({ position: row.position });
    return true;
  });
}

/** Stops a new replica that did not become healthy. The failing one stays, and is restarted in place at `nextAt`. */
export function abandonReplacement(
  db: Db,
  failing: ReplicaRow,
  successor: ReplicaRow,
  nextAt: Date,
  log: Logged,
): Promise<boolean> {
  return inOrder(db, failing, log, async (trx) => {
    if (!(await stopSuccessor(trx, successor))) return false;
    await trx<ReplicaRow>('replicas')
      .where({ id: failing.id, desired: 'running' })
      .update({ replacements: failing.replacements + 1, surge_failed: true, replace_at: nextAt });
    return true;
  });
}

/** Stops a new replica that is no longer needed. */
export function dropReplacement(db: Db, successor: ReplicaRow): Promise<boolean> {
  return inOrder(db, successor, null, (trx) => stopSuccessor(trx, successor));
}

/** Stops a failing replica. A new one replaces it and starts at `startAt`, once the old one has stopped. */
export function restartInPlace(db: Db, failing: ReplicaRow, startAt: Date, log: Logged): Promise<boolean> {
  return inOrder(db, failing, log, async (trx) => {
    if (!(await stillFailing(trx, failing)) || !(await freeSpare(trx, failing))) return false;
    await trx<ReplicaRow>('replicas')
      .where({ id: failing.id })
      .update({ position: spareOf(failing), desired: 'stopped', updated_at: trx.fn.now() });
    await trx<ReplicaRow>('replicas').insert({
      ...fresh(failing),
      position: failing.position,
      state: 'exited',
      // The new replica counts as having been healthy before. Thus it is restarted until it is healthy.
      ready_at: failing.ready_at,
      next_start_at: startAt,
      exit_detail: 'is replaced because it failed its health check',
      replacements: failing.replacements + 1,
    });
    return true;
  });
}

function fresh({ service_id, deployment_id, host_id, generation }: ReplicaRow): Partial<ReplicaRow> {
  return { id: uuidv7(), service_id, deployment_id, host_id, generation };
}

function spareOf({ position }: ReplicaRow): number {
  return SPARE + position;
}

async function stillFailing(trx: Transaction, { id, restarts, state }: ReplicaRow): Promise<boolean> {
  const row = await trx<ReplicaRow>('replicas')
    .where({ id, restarts, state, desired: 'running' })
    .forUpdate()
    .first('id');
  return row !== undefined;
}

async function freeSpare(trx: Transaction, row: ReplicaRow): Promise<boolean> {
  const { deployment_id, generation } = row;
  const there = () => trx<ReplicaRow>('replicas').where({ deployment_id, generation, position: spareOf(row) });
  await there().where({ state: 'stopped' }).delete();
  return (await there().first('id')) === undefined;
}

async function stopSuccessor(trx: Transaction, { id }: ReplicaRow): Promise<boolean> {
  const stopped = await trx<ReplicaRow>('replicas')
    .where({ id, desired: 'running' })
    .whereNotNull('replaces')
    .update({ desired: 'stopped', updated_at: trx.fn.now() });
  return stopped === 1;
}

async function inOrder(
  db: Db,
  row: ReplicaRow,
  log: Logged | null,
  change: (trx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  return db.transaction(async (trx) => {
    await lockUntilCommit(trx, `replicas.${row.deployment_id}`);
    if (!(await change(trx))) return false;
    await log?.(trx);
    await updateServiceHealth(trx, row, { route: true });
    await notifyHost(trx, row.host_id);
    return true;
  });
}
