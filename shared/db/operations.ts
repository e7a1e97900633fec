import { v7 as uuidv7 } from 'uuid';
import type { OperationKind } from '../domain/operation.js';
import { type Db, rowsOf, type Transaction } from './client.js';
import type { Claim } from './deployments.js';
import type { OperationRow } from './rows.js';

export interface NewOperation {
  workspaceId: string;
  serviceId: string;
  kind: OperationKind;
  actor: string;
}

/** Stores a queued operation; its first job is counted. */
export async function insertOperation(trx: Transaction, input: NewOperation): Promise<OperationRow> {
  const [row] = await trx<OperationRow>('operations')
    .insert({
      id: uuidv7(),
      workspace_id: input.workspaceId,
      service_id: input.serviceId,
      kind: input.kind,
      actor: input.actor,
      dispatches: 1,
    })
    .returning('*');
  if (!row) throw new Error('the operation was not stored');
  return row;
}

/** Takes an operation over (see `claimDeployment`). Undefined where it has ended. */
export async function claimOperation(
  db: Db,
  id: string,
  workerId: string,
  leaseSeconds: number,
): Promise<OperationRow | undefined> {
  const [row] = await rowsOf<OperationRow>(
    db,
    `update operations
        set fence = fence + 1, worker_id = :workerId, status = 'running', updated_at = now(),
            lease_expires_at = now() + :leaseSeconds * interval '1 second'
      where id = :id and status in ('queued', 'running')
      returning *`,
    { id, workerId, leaseSeconds },
  );
  return row;
}

/** Keeps the hold; false where it is lost. */
export async function renewOperation(db: Db, { id, fence }: Claim, leaseSeconds: number): Promise<boolean> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `update operations set lease_expires_at = now() + :leaseSeconds * interval '1 second'
      where id = :id and fence = :fence and status = 'running' returning id`,
    { id, fence, leaseSeconds },
  );
  return rows.length > 0;
}

/** Gives an operation back unfinished: it is queued again. */
export async function releaseOperation(db: Db, { id, fence }: Claim): Promise<void> {
  await db.raw(
    `update operations set status = 'queued', worker_id = null, lease_expires_at = null, updated_at = now()
      where id = :id and fence = :fence and status = 'running'`,
    { id, fence },
  );
}

/** Ends an operation; false where the claim is lost. */
export async function endOperation(
  db: Db,
  { id, fence }: Claim,
  status: 'succeeded' | 'failed',
  error = '',
): Promise<boolean> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `update operations
        set status = :status, error = :error, finished_at = now(), updated_at = now(), worker_id = null, lease_expires_at = null
      where id = :id and fence = :fence and status = 'running' returning id`,
    { id, fence, status, error },
  );
  return rows.length > 0;
}
