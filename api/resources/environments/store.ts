import { v7 as uuidv7 } from 'uuid';
import { type Db, rowsOf, type Transaction } from '../../../shared/core/database/database-client.js';
import type { EnvironmentRow } from '../../../shared/environments/store.js';

const MAX_LISTED = 1000;

/**
 * Locks an environment, so that no service or group can be added to it. To avoid deadlocks, it must be locked before
 * its project.
 */
export async function lockEnvironment(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<EnvironmentRow | undefined> {
  return trx<EnvironmentRow>('environments').where({ id, workspace_id: workspaceId }).forUpdate().first();
}

export async function lockEnvironments(trx: Transaction, projectId: string): Promise<void> {
  await trx<EnvironmentRow>('environments').where({ project_id: projectId }).orderBy('id').forUpdate().select('id');
}

export async function countEnvironments(db: Db, projectId: string): Promise<number> {
  const row = await db<EnvironmentRow>('environments').where({ project_id: projectId }).count({ count: '*' }).first();
  return Number(row?.count ?? 0);
}

export interface NewEnvironment {
  workspaceId: string;
  projectId: string;
  name: string;
  protected: boolean;
}

/** Stores an environment. Returns undefined if the project already has one with this name. */
export async function insertEnvironment(trx: Transaction, input: NewEnvironment): Promise<EnvironmentRow | undefined> {
  const [row] = await trx<EnvironmentRow>('environments')
    .insert({
      id: uuidv7(),
      workspace_id: input.workspaceId,
      project_id: input.projectId,
      name: input.name,
      protected: input.protected,
    })
    .onConflict(['project_id', 'name'])
    .ignore()
    .returning('*');
  return row;
}

export async function isNameTaken(db: Db, environment: EnvironmentRow, name: string): Promise<boolean> {
  const { project_id, id } = environment;
  const other = await db<EnvironmentRow>('environments').where({ project_id, name }).whereNot({ id }).first('id');
  return other !== undefined;
}

export interface ReferenceInto {
  key: string;
  from_kind: 'service' | 'environment-group';
  from_id: string;
  from_name: string;
  provider_id: string;
  provider_name: string;
  provider_key: string;
}

/** Returns variables outside an environment that refer to services in it. At most 1000. */
export async function referencesInto(db: Db, environmentId: string): Promise<ReferenceInto[]> {
  return rowsOf<ReferenceInto>(
    db,
    `select v.key, case when v.service_id is null then 'environment-group' else 'service' end as from_kind,
            coalesce(v.service_id, v.group_id) as from_id, coalesce(s.name, g.name) as from_name,
            p.id as provider_id, p.name as provider_name, v.reference_key as provider_key
       from services p
       join variables v on v.reference_service_id = p.id
       left join services s on s.id = v.service_id
       left join environment_groups g on g.id = v.group_id
      where p.environment_id = :environmentId and p.deleted_at is null
        and coalesce(s.environment_id, g.environment_id) is distinct from :environmentId
      order by v.created_at, v.id limit ${MAX_LISTED}`,
    { environmentId },
  );
}

/** Returns groups that are linked to services both inside and outside an environment. At most 1000. */
export async function groupsAcross(db: Db, environmentId: string): Promise<{ id: string; name: string }[]> {
  return rowsOf(
    db,
    `select g.id, g.name from environment_groups g join environment_group_services l on l.group_id = g.id
       join services s on s.id = l.service_id and s.deleted_at is null
      where g.workspace_id = (select workspace_id from environments where id = :environmentId)
      group by g.id
     having bool_or(s.environment_id is not distinct from :environmentId)
        and bool_or(s.environment_id is distinct from :environmentId)
      order by g.created_at, g.id limit ${MAX_LISTED}`,
    { environmentId },
  );
}
