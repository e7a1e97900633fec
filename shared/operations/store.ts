import type { Knex } from 'knex';
import { v7 as uuidv7 } from 'uuid';
import { type Db, lockUntilCommit, oneRow, rowsOf, type Transaction } from '../core/database/client.js';
import { aloneInWorkspace, CLAIM, type Lease, UNHELD } from '../core/database/leases.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import type { OperationKind, OperationRow, OperationStatus } from './model.js';

export interface NewOperation {
  workspaceId: string;
  serviceId: string;
  kind: OperationKind;
  actor: string;
  backupId?: string | undefined;
}

/** Stores a queued operation; its first job is due at once. */
export async function insertOperation(trx: Transaction, input: NewOperation): Promise<OperationRow> {
  const [row] = await trx<OperationRow>('operations')
    .insert({
      id: uuidv7(),
      workspace_id: input.workspaceId,
      service_id: input.serviceId,
      kind: input.kind,
      actor: input.actor,
      backup_id: input.backupId ?? null,
      dispatches: 1,
      due_at: trx.fn.now() as unknown as Date,
    })
    .returning('*');
  if (!row) throw new Error('the operation was not stored');
  return row;
}

/** Claims an operation (see `claimDeployment`). Null if it has ended. */
export function claimOperation(db: Db, id: string, workerId: string): Promise<OperationRow | null> {
  return claim(db, id, workerId, 'true');
}

/**
 * Claims a restore. Null if it has ended, or while another one of its workspace is done: no workspace takes more than one of the
 * few slots for restores.
 */
export function claimRestore(db: Db, id: string, workerId: string): Promise<OperationRow | null> {
  return db.transaction(async (trx) => {
    await lockUntilCommit(trx, 'ranvier.restore-claims');
    return claim(trx, id, workerId, aloneInWorkspace('operations', `o.kind = 'restore'`));
  });
}

function claim(db: Db, id: string, workerId: string, condition: string): Promise<OperationRow | null> {
  return oneRow<OperationRow>(
    db,
    `update operations claimed set status = 'running', ${CLAIM}
      where id = :id and finished_at is null and ${condition} returning *`,
    { id, workerId },
  );
}

/** An operation that has not ended, by its id. */
export function openOperation(db: Db, id: string): Promise<OperationRow | null> {
  return oneRow<OperationRow>(db, 'select * from operations where id = ? and finished_at is null', [id]);
}

/** Releases an operation that has not ended: it is queued again. */
export async function releaseOperation(db: Db, lease: Lease): Promise<void> {
  await db.raw(
    `update operations set status = 'queued', ${UNHELD} where id = :id and fence = :fence and finished_at is null`,
    { ...lease },
  );
}

/** Ends an operation; false if the lease is lost. */
export async function endOperation(db: Db, lease: Lease, status: 'succeeded' | 'failed', error = ''): Promise<boolean> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `update operations set status = :status, error = :error, finished_at = now(), ${UNHELD}
      where id = :id and fence = :fence and finished_at is null returning id`,
    { ...lease, status, error },
  );
  return rows.length > 0;
}

/** An operation of this service, also after its deletion. */
export async function findOperation(db: Db, serviceId: string, id: string): Promise<OperationRow | undefined> {
  return db<OperationRow>('operations').where({ id, service_id: serviceId }).first();
}

/** An open operation of the service that is of one of these kinds. */
export function findOpenOperation(
  db: Db,
  serviceId: string,
  kinds: readonly OperationKind[],
): Promise<OperationRow | null> {
  return oneRow<OperationRow>(
    db,
    `select * from operations where service_id = :serviceId and finished_at is null and kind = any(:kinds)
      order by created_at limit 1`,
    { serviceId, kinds },
  );
}

/** The status of an operation; null if there is none of this id. */
export async function operationStatus(db: Db, id: string): Promise<OperationStatus | null> {
  const row = await db<OperationRow>('operations').where({ id }).first('status');
  return row?.status ?? null;
}

/** A service's operations, newest first. */
export async function listOperations(db: Db, serviceId: string, page: PageRequest): Promise<Page<OperationRow>> {
  const query: Knex.QueryBuilder<OperationRow> = db('operations').where({ service_id: serviceId }).select('*');
  return fetchPage(query, 'operations', page);
}
