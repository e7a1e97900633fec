import { type Db, rowsOf } from '../../../shared/core/database/database-client.js';
import { type Page, type PageRequest, pageOf } from '../../../shared/core/database/page.js';
import type { ApplyRow, StackRow } from '../../../shared/stacks/model.js';

export function getStacks(db: Db, ids: readonly string[]): Promise<StackRow[]> {
  return rowsOf<StackRow>(db, 'select * from stacks where id = any(:ids) and deleted_at is null', { ids });
}

export function listStacks(db: Db, workspaceId: string, page: PageRequest): Promise<Page<StackRow>> {
  return pageOf<StackRow>(db, 'stacks', { workspace_id: workspaceId, deleted_at: null }, page);
}

export function latestApplies(db: Db, stackIds: readonly string[]): Promise<ApplyRow[]> {
  return rowsOf<ApplyRow>(
    db,
    `select distinct on (stack_id) * from stack_applies where stack_id = any(:stackIds)
      order by stack_id, created_at desc, id desc`,
    { stackIds },
  );
}

export function listApplies(db: Db, stackId: string, page: PageRequest): Promise<Page<ApplyRow>> {
  return pageOf<ApplyRow>(db, 'stack_applies', { stack_id: stackId }, page);
}

export async function findApply(db: Db, stackId: string, id: string): Promise<ApplyRow | undefined> {
  return db<ApplyRow>('stack_applies').where({ stack_id: stackId, id }).first();
}

export interface OwnedResource {
  kind: 'service' | 'group';
  id: string;
  name: string;
}

export function listOwned(db: Db, stackId: string): Promise<OwnedResource[]> {
  return rowsOf<OwnedResource>(
    db,
    `select case when r.service_id is null then 'group' else 'service' end as kind, coalesce(s.id, g.id) as id,
            coalesce(s.name, g.name) as name
       from stack_resources r left join services s on s.id = r.service_id and s.deleted_at is null
       left join environment_groups g on g.id = r.group_id
      where r.stack_id = :stackId and (s.id is not null or g.id is not null) order by kind, name, id`,
    { stackId },
  );
}
