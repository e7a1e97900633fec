import type { Knex } from 'knex';
import { type Db, rowsOf, type Transaction } from './client.js';
import { fetchPage, type Page, type PageRequest } from './page.js';
import type { VariableRow } from './rows.js';

/** Whose variables: a service's or an environment group's. */
export type VariableOwner = { serviceId: string } | { groupId: string };

/** What is shown of a variable; its sealed value stays in the database. */
export type VariableView = Pick<VariableRow, 'id' | 'key' | 'reference_service_id' | 'created_at' | 'updated_at'>;

const SHOWN = ['id', 'key', 'reference_service_id', 'created_at', 'updated_at'] as const;

/** What a row stores: exactly one of sealed value and reference. */
export type StoredContent = Pick<VariableRow, 'sealed' | 'reference_service_id' | 'reference_key'>;

function owned(owner: VariableOwner): Partial<VariableRow> {
  return 'serviceId' in owner ? { service_id: owner.serviceId } : { group_id: owner.groupId };
}

export async function listVariables(db: Db, owner: VariableOwner, page: PageRequest): Promise<Page<VariableView>> {
  const query: Knex.QueryBuilder<VariableView> = db('variables')
    .where(owned(owner))
    .select(...SHOWN);
  return fetchPage(query, 'variables', page);
}

export async function countVariables(db: Db, owner: VariableOwner): Promise<number> {
  const row = await db<VariableRow>('variables').where(owned(owner)).count({ count: '*' }).first();
  return Number(row?.count ?? 0);
}

/** Stores a variable; undefined where its owner has one of that key. */
export async function insertVariable(
  trx: Transaction,
  owner: VariableOwner,
  variable: StoredContent & { id: string; workspace_id: string; key: string },
): Promise<VariableView | undefined> {
  const [row] = await trx<VariableRow>('variables')
    .insert({ ...owned(owner), ...variable })
    .onConflict('serviceId' in owner ? ['service_id', 'key'] : ['group_id', 'key'])
    .ignore()
    .returning(SHOWN);
  return row;
}

/** Replaces what a variable holds; undefined where the owner has none of that id. */
export async function updateVariable(
  trx: Transaction,
  owner: VariableOwner,
  id: string,
  content: StoredContent,
): Promise<VariableView | undefined> {
  const [row] = await trx<VariableRow>('variables')
    .where({ id, ...owned(owner) })
    .update({ ...content, updated_at: trx.fn.now() as unknown as Date })
    .returning(SHOWN);
  return row;
}

/** False where the owner has no variable of that id. */
export async function deleteVariable(trx: Transaction, owner: VariableOwner, id: string): Promise<boolean> {
  return (
    (await trx<VariableRow>('variables')
      .where({ id, ...owned(owner) })
      .delete()) > 0
  );
}

/** A service that a reference may name: of this workspace and not deleted. */
export async function findReferable(
  db: Db,
  workspaceId: string,
  serviceId: string,
): Promise<{ id: string; environment_protected: boolean } | undefined> {
  const [row] = await rowsOf<{ id: string; environment_protected: boolean }>(
    db,
    `select s.id, coalesce(e.protected, false) as environment_protected
       from services s left join environments e on e.id = s.environment_id
      where s.id = :serviceId and s.workspace_id = :workspaceId and s.deleted_at is null`,
    { serviceId, workspaceId },
  );
  return row;
}
