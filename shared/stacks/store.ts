import { v7 as uuidv7 } from 'uuid';
import {
  anyRow,
  type Db,
  oneRow,
  oneValue,
  returnedRow,
  rowsOf,
  type Transaction,
} from '../core/database/database-client.js';
import { requestCancel } from '../engine/cancel-requests.js';
import { STACK_APPLIES } from './kind.js';
import { type ApplyRow, type StackRow, type Step, type StepRow, stepName } from './model.js';

export type ResourceId = { serviceId: string } | { groupId: string };

export interface NewApply extends Pick<ApplyRow, 'id' | 'workspace_id' | 'stack_id' | 'actor' | 'reads_protected'> {
  /** True if the routes of all deployments switch in one transaction. */
  together: boolean;
  /** The earlier apply whose releases a rollback restores. */
  rollback_of?: string;
  plan: ApplyRow['plan'];
  sealed_steps: Buffer | null;
  steps: readonly Step[];
}

/** Stores an apply with its steps. The apply is due immediately; without steps, it is stored as succeeded. */
export async function insertApply(trx: Transaction, { steps, plan, ...apply }: NewApply): Promise<void> {
  const ended = { status: 'succeeded', finished_at: trx.fn.now() };
  await trx('stack_applies').insert({
    ...apply,
    plan: JSON.stringify(plan),
    ...(steps.length === 0 ? ended : { due_at: trx.fn.now(), dispatches: 1 }),
  });
  if (steps.length === 0) return;
  await trx.batchInsert(
    'stack_steps',
    steps.map((step, position) => ({ apply_id: apply.id, position, op: step.op, name: stepName(step) })),
    1000,
  );
}

const NEXT_STEP = `select * from stack_steps where apply_id = :applyId and status <> 'done' order by position limit 1`;

/** Returns the first step that is not done yet; undefined if all are done. */
export async function findNextStep(db: Db, applyId: string): Promise<StepRow | undefined> {
  return (await oneRow<StepRow>(db, NEXT_STEP, { applyId })) ?? undefined;
}

/** Returns the first step that is not done yet, locked until the commit. */
export async function lockNextStep(trx: Transaction, applyId: string): Promise<StepRow | undefined> {
  return (await oneRow<StepRow>(trx, `${NEXT_STEP} for update`, { applyId })) ?? undefined;
}

export interface StepResult {
  resourceId?: string | null;
  deploymentId?: string | null;
  operationId?: string | null;
}

/** Records that a step is done. Must run in the transaction that performs the step. */
export async function finishStep(
  trx: Transaction,
  { apply_id, position }: Pick<StepRow, 'apply_id' | 'position'>,
  { resourceId = null, deploymentId = null, operationId = null }: StepResult,
): Promise<void> {
  await trx.raw(
    `update stack_steps set status = 'done', error = '', resource_id = :resourceId, deployment_id = :deploymentId,
            operation_id = :operationId, finished_at = now()
      where apply_id = :apply_id and position = :position`,
    { apply_id, position, resourceId, deploymentId, operationId },
  );
}

/** Records why a step failed. */
export async function failStep(
  db: Db,
  { apply_id, position }: Pick<StepRow, 'apply_id' | 'position'>,
  error: string,
): Promise<void> {
  await db.raw(
    `update stack_steps set status = 'failed', error = :error, finished_at = now()
      where apply_id = :apply_id and position = :position and status <> 'done'`,
    { apply_id, position, error },
  );
}

export function listSteps(db: Db, applyId: string): Promise<StepRow[]> {
  return rowsOf<StepRow>(db, 'select * from stack_steps where apply_id = :applyId order by position', { applyId });
}

export interface ApplyDeployment {
  id: string;
  service_id: string;
  name: string;
  status: string;
  error: string;
  open: boolean;
}

/** Returns the deployments that an apply queued, in the order of its steps. */
export function listApplyDeployments(db: Db, applyId: string): Promise<ApplyDeployment[]> {
  return rowsOf<ApplyDeployment>(
    db,
    `select d.id, d.service_id, s.name, d.status, d.error, d.finished_at is null as open
       from stack_steps s join deployments d on d.id = s.deployment_id where s.apply_id = :applyId order by s.position`,
    { applyId },
  );
}

/** Returns the restores that an apply queued, in the order of its steps. */
export function listApplyRestores(
  db: Db,
  applyId: string,
): Promise<{ name: string; status: string; error: string; open: boolean }[]> {
  return rowsOf(
    db,
    `select s.name, o.status, o.error, o.finished_at is null as open
       from stack_steps s join operations o on o.id = s.operation_id where s.apply_id = :applyId order by s.position`,
    { applyId },
  );
}

/** Returns the id of the stack's service or group that has this name in the document. */
export async function findResource(
  db: Db,
  stackId: string,
  kind: 'service' | 'group',
  name: string,
): Promise<string | undefined> {
  const id = await oneValue<string>(
    db,
    `select ${kind}_id from stack_resources where stack_id = :stackId and name = :name and ${kind}_id is not null`,
    { stackId, name },
  );
  return id ?? undefined;
}

/** Makes a stack the owner of a service or group. `name` is null if the stack's document omits it. */
export async function claimResource(
  trx: Transaction,
  stackId: string,
  resource: ResourceId,
  name: string | null,
): Promise<void> {
  const [column, id] = 'serviceId' in resource ? ['service_id', resource.serviceId] : ['group_id', resource.groupId];
  await trx.raw(
    `insert into stack_resources (stack_id, ${column}, name) values (:stackId, :id, :name)
     on conflict (${column}) do update set stack_id = excluded.stack_id, name = excluded.name`,
    { stackId, id, name },
  );
}

export async function releaseResource(trx: Transaction, resource: ResourceId): Promise<void> {
  const match = 'serviceId' in resource ? { service_id: resource.serviceId } : { group_id: resource.groupId };
  await trx('stack_resources').where(match).delete();
}

/** Deletes a stack. The resources that it owned are kept, without an owner. */
export async function forgetStack(trx: Transaction, stackId: string): Promise<void> {
  await trx('stack_resources').where({ stack_id: stackId }).delete();
  await trx('stacks').where({ id: stackId }).update({ deleted_at: trx.fn.now(), sealed_document: null });
}

/** Returns the stack with this name. Deleted stacks are not found. */
export async function findStack(db: Db, workspaceId: string, name: string): Promise<StackRow | undefined> {
  const sql = 'select * from stacks where workspace_id = :workspaceId and name = :name and deleted_at is null';
  return (await oneRow<StackRow>(db, sql, { workspaceId, name })) ?? undefined;
}

export async function insertStack(
  trx: Transaction,
  { workspaceId, environmentId, name }: { workspaceId: string; environmentId: string; name: string },
): Promise<StackRow> {
  const row = { id: uuidv7(), workspace_id: workspaceId, environment_id: environmentId, name };
  const [stack] = await trx<StackRow>('stacks').insert(row).returning('*');
  return returnedRow(stack);
}

export async function writeDocument(trx: Transaction, id: string, sealed: Buffer): Promise<void> {
  await trx('stacks').where({ id }).update({ sealed_document: sealed, updated_at: trx.fn.now() });
}

/** Removes from a stack the resources that were deleted or moved out of the stack's environment. */
export async function releaseAbsent(trx: Transaction, stack: Pick<StackRow, 'id' | 'environment_id'>): Promise<void> {
  await trx.raw(
    `delete from stack_resources r
      where r.stack_id = :id
        and not exists (select from services s where s.id = r.service_id and s.environment_id = :environment_id
                           and s.deleted_at is null and s.lifecycle_status <> 'deleting')
        and not exists (select from environment_groups g where g.id = r.group_id and g.environment_id = :environment_id)`,
    { id: stack.id, environment_id: stack.environment_id },
  );
}

export function hasOpenApply(db: Db, stackId: string): Promise<boolean> {
  return anyRow(db, 'select from stack_applies where stack_id = ? and finished_at is null', [stackId]);
}

export async function getStack(db: Db, id: string): Promise<(StackRow & { project_id: string }) | undefined> {
  const row = await oneRow<StackRow & { project_id: string }>(
    db,
    'select s.*, e.project_id from stacks s join environments e on e.id = s.environment_id where s.id = :id',
    { id },
  );
  return row ?? undefined;
}

/** Requests the cancellation of an open apply. Returns false if it is already finished. */
export async function cancelApply(
  trx: Transaction,
  { id, stack_id }: Pick<ApplyRow, 'id' | 'stack_id'>,
): Promise<boolean> {
  return (await requestCancel(trx, STACK_APPLIES, { id, stack_id })) > 0;
}
