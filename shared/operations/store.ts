import { v7 as uuidv7 } from 'uuid';
import { anyRow, type Db, oneRow, returnedRow, type Transaction } from '../core/database/database-client.js';
import { type Page, type PageRequest, pageOf } from '../core/database/page.js';
import type { OperationKind, OperationRow, OperationStatus } from './model.js';

export interface NewOperation {
  workspaceId: string;
  serviceId: string;
  kind: OperationKind;
  actor: string;
  backupId?: string | undefined;
}

/** Stores a queued operation, which is due immediately. */
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
      due_at: trx.fn.now(),
    })
    .returning('*');
  return returnedRow(row);
}

/** Returns an operation of this service, even if the service is deleted. */
export async function findOperation(db: Db, serviceId: string, id: string): Promise<OperationRow | undefined> {
  return db<OperationRow>('operations').where({ id, service_id: serviceId }).first();
}

/** Returns the oldest unfinished operation of these kinds on a service; null if there is none. */
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

/** Returns true while the backup is being restored, into its own service or another one. */
export function isBeingRestored(db: Db, backupId: string): Promise<boolean> {
  return anyRow(db, 'select from operations where backup_id = ? and finished_at is null', [backupId]);
}

export async function operationStatus(db: Db, id: string): Promise<OperationStatus | null> {
  const row = await db<OperationRow>('operations').where({ id }).first('status');
  return row?.status ?? null;
}

export function listOperations(db: Db, serviceId: string, page: PageRequest): Promise<Page<OperationRow>> {
  return pageOf<OperationRow>(db, 'operations', { service_id: serviceId }, page);
}
