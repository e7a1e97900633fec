import type { Knex } from 'knex';
import { v7 as uuidv7 } from 'uuid';
import { type Db, rowsOf, type Transaction } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { groupIsProtected } from '../variables/snapshot-store.js';

interface EnvironmentGroupRow {
  id: string;
  workspace_id: string;
  environment_id: string | null;
  name: string;
  created_at: Date;
  updated_at: Date;
}

export type EnvironmentGroupView = EnvironmentGroupRow & {
  service_ids: string[];
  /** True if the group is restricted to a protected environment, or linked to a service in one. */
  environment_protected: boolean;
};

function views(db: Db): Knex.QueryBuilder<EnvironmentGroupView> {
  return db('environment_groups as g').select(
    'g.*',
    db.raw(
      `array(select service_id from environment_group_services where group_id = g.id order by created_at, service_id)
         as service_ids`,
    ),
    db.raw(`${groupIsProtected('g')} as environment_protected`),
  );
}

export async function findGroupView(
  db: Db,
  workspaceId: string,
  id: string,
): Promise<EnvironmentGroupView | undefined> {
  const query = views(db).where('g.id', id).where('g.workspace_id', workspaceId);
  return (await query.first()) as EnvironmentGroupView | undefined;
}

export async function listGroupViews(
  db: Db,
  workspaceId: string,
  page: PageRequest,
): Promise<Page<EnvironmentGroupView>> {
  return fetchPage(views(db).where('g.workspace_id', workspaceId), 'g', page);
}

/**
 * Locks a group until the commit. No service can be linked to it meanwhile. To avoid deadlocks, lock groups before
 * their services.
 */
export async function lockGroup(trx: Transaction, workspaceId: string, id: string): Promise<void> {
  await trx<EnvironmentGroupRow>('environment_groups')
    .where({ id, workspace_id: workspaceId })
    .forUpdate()
    .select('id');
}

export async function insertGroup(
  trx: Transaction,
  { workspaceId, environmentId, name }: { workspaceId: string; environmentId: string | null; name: string },
): Promise<string> {
  const id = uuidv7();
  const row = { id, workspace_id: workspaceId, environment_id: environmentId, name };
  await trx<EnvironmentGroupRow>('environment_groups').insert(row);
  return id;
}

export async function updateGroupRow(
  trx: Transaction,
  id: string,
  changes: Partial<Pick<EnvironmentGroupRow, 'name' | 'environment_id'>>,
): Promise<void> {
  await trx<EnvironmentGroupRow>('environment_groups')
    .where({ id })
    .update({ ...changes, updated_at: trx.fn.now() });
}

/** Deletes a group, its links and its variables. */
export async function deleteGroupRow(trx: Transaction, id: string): Promise<void> {
  await trx<EnvironmentGroupRow>('environment_groups').where({ id }).delete();
}

/**
 * Links a service to a group; does nothing if it is already linked. `position` orders links created in one transaction.
 */
export async function insertLink(
  trx: Transaction,
  groupId: string,
  serviceId: string,
  position: number,
): Promise<void> {
  await trx('environment_group_services')
    .insert({
      group_id: groupId,
      service_id: serviceId,
      created_at: trx.raw("now() + ? * interval '1 millisecond'", [position]),
    })
    .onConflict(['group_id', 'service_id'])
    .ignore();
}

export async function deleteLink(trx: Transaction, groupId: string, serviceId: string): Promise<boolean> {
  const deleted = await trx('environment_group_services').where({ group_id: groupId, service_id: serviceId }).delete();
  return deleted > 0;
}

/** Returns the services linked to a group, locked so that their environments cannot change. */
export async function lockLinkedServices(
  trx: Transaction,
  groupId: string,
): Promise<{ id: string; name: string; environment_id: string | null }[]> {
  return rowsOf(
    trx,
    `select id, name, environment_id from services
      where id in (select service_id from environment_group_services where group_id = ?) order by id for update`,
    [groupId],
  );
}
