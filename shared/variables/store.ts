import type { Knex } from 'knex';
import { type Db, oneRow, rowsOf, type Transaction, theRow } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { SEAL_OVERHEAD_BYTES } from '../secrets/keyring.js';
import type { VariableScope } from './model.js';

export type VariableOwner = { serviceId: string } | { groupId: string };

export type VariableView = Pick<
  VariableRow,
  'id' | 'key' | 'scope' | 'reference_service_id' | 'created_at' | 'updated_at'
>;

const SHOWN = ['id', 'key', 'scope', 'reference_service_id', 'created_at', 'updated_at'] as const;

/** Either the sealed value is set, or the reference (`reference_service_id` and `reference_key`). */
export type StoredContent = Pick<VariableRow, 'sealed' | 'reference_service_id' | 'reference_key'>;

export type NewVariable = StoredContent & Pick<VariableRow, 'id' | 'workspace_id' | 'key' | 'scope'>;

function columnOf(owner: VariableOwner): [column: 'service_id' | 'group_id', id: string] {
  return 'serviceId' in owner ? ['service_id', owner.serviceId] : ['group_id', owner.groupId];
}

function owned(owner: VariableOwner): Partial<VariableRow> {
  return 'serviceId' in owner ? { service_id: owner.serviceId } : { group_id: owner.groupId };
}

export async function listVariables(db: Db, owner: VariableOwner, page: PageRequest): Promise<Page<VariableView>> {
  const query: Knex.QueryBuilder<VariableView> = db('variables')
    .where(owned(owner))
    .select(...SHOWN);
  return fetchPage(query, 'variables', page);
}

/** Returns the number and total size in bytes of an owner's variables, without the variable `except`. */
export function sizeOfVariables(
  db: Db,
  owner: VariableOwner,
  except: string,
): Promise<{ count: number; bytes: number }> {
  return theRow(
    db,
    `select count(*) as count,
            coalesce(sum(octet_length(key) + greatest(0, coalesce(length(sealed), 0) - ${SEAL_OVERHEAD_BYTES})), 0)::bigint as bytes
       from variables where ?? = ? and id <> ?`,
    [...columnOf(owner), except],
  );
}

export async function findVariableKey(db: Db, owner: VariableOwner, id: string): Promise<string | undefined> {
  const match = { id, ...owned(owner) };
  return (await db<VariableRow>('variables').where(match).first('key'))?.key;
}

/** Stores a variable. Returns undefined if its owner already has a variable with this key. */
export async function insertVariable(
  trx: Transaction,
  owner: VariableOwner,
  variable: NewVariable,
): Promise<VariableView | undefined> {
  const [row] = await trx<VariableRow>('variables')
    .insert({ ...owned(owner), ...variable })
    .onConflict([columnOf(owner)[0], 'key'])
    .ignore()
    .returning(SHOWN);
  return row;
}

/** Replaces a variable's value or reference, and its scope if given. Returns undefined if no variable has this id. */
export async function updateVariable(
  trx: Transaction,
  owner: VariableOwner,
  id: string,
  { scope, ...content }: StoredContent & { scope: VariableScope | undefined },
): Promise<VariableView | undefined> {
  const [row] = await trx<VariableRow>('variables')
    .where({ id, ...owned(owner) })
    .update({ ...content, scope, updated_at: trx.fn.now() })
    .returning(SHOWN);
  return row;
}

export async function deleteVariable(trx: Transaction, owner: VariableOwner, id: string): Promise<boolean> {
  const match = { id, ...owned(owner) };
  return (await trx<VariableRow>('variables').where(match).delete()) > 0;
}

/** Returns an owner's variables without their values. `bytes` is the size of a variable's key and value together. */
export async function sizesOfVariables(
  db: Db,
  owner: VariableOwner,
): Promise<{ id: string; key: string; scope: VariableScope; bytes: number }[]> {
  return rowsOf(
    db,
    `select id, key, scope, octet_length(key) + greatest(0, coalesce(length(sealed), 0) - ${SEAL_OVERHEAD_BYTES}) as bytes
       from variables where ?? = ?`,
    columnOf(owner),
  );
}

/** Stores variables. An existing variable keeps its id, because the caller has sealed the new value for that id. */
export async function upsertVariables(
  trx: Transaction,
  owner: VariableOwner,
  variables: readonly NewVariable[],
): Promise<void> {
  if (variables.length === 0) return;
  await trx<VariableRow>('variables')
    .insert(variables.map((variable) => ({ ...owned(owner), ...variable })))
    .onConflict([columnOf(owner)[0], 'key'])
    .merge({
      sealed: trx.raw('excluded.sealed'),
      reference_service_id: trx.raw('excluded.reference_service_id'),
      reference_key: trx.raw('excluded.reference_key'),
      scope: trx.raw('excluded.scope'),
      updated_at: trx.fn.now(),
    });
}

export async function deleteVariablesByKey(
  trx: Transaction,
  owner: VariableOwner,
  keys: readonly string[],
): Promise<void> {
  if (keys.length > 0) await trx<VariableRow>('variables').where(owned(owner)).whereIn('key', keys).delete();
}

/** Returns a service to which a variable may refer: in this workspace, not deleted, and not a preview. */
export async function findReferenceTarget(
  db: Db,
  workspaceId: string,
  serviceId: string,
): Promise<{ id: string; environment_protected: boolean } | undefined> {
  const row = await oneRow<{ id: string; environment_protected: boolean }>(
    db,
    `select s.id, coalesce(e.protected, false) as environment_protected
       from services s left join environments e on e.id = s.environment_id
      where s.id = :serviceId and s.workspace_id = :workspaceId and s.deleted_at is null
        and not exists (select from previews p where p.service_id = s.id)`,
    { serviceId, workspaceId },
  );
  return row ?? undefined;
}

interface VariableRow {
  id: string;
  workspace_id: string;
  service_id: string | null;
  group_id: string | null;
  key: string;
  scope: VariableScope;
  sealed: Buffer | null;
  reference_service_id: string | null;
  reference_key: string | null;
  created_at: Date;
  updated_at: Date;
}
