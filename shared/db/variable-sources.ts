import { type Db, rowsOf } from './client.js';

/** A variable as a deployment needs it: sealed, or a reference to another service. */
export interface VariableSource {
  id: string;
  service_id: string;
  key: string;
  sealed: Buffer | null;
  reference_service_id: string | null;
  reference_key: string | null;
}

/** A service that variables may refer to. */
export interface ProviderRow {
  id: string;
  name: string;
  slug: string;
  kind: string;
  archived: boolean;
  lifecycle_status: string;
  port: number;
}

/**
 * The variables that reach a service: those of its groups, then its own. Where a key comes twice the later one counts;
 * among groups the one linked last.
 */
export async function variablesReaching(db: Db, serviceId: string): Promise<VariableSource[]> {
  return rowsOf<VariableSource>(
    db,
    `select id, cast(:serviceId as uuid) as service_id, key, sealed, reference_service_id, reference_key from (
       select v.*, 0 as rank, l.created_at as linked_at
         from environment_group_services l join variables v on v.group_id = l.group_id where l.service_id = :serviceId
       union all
       select v.*, 1 as rank, v.created_at as linked_at from variables v where v.service_id = :serviceId
     ) reaching order by rank, linked_at, id`,
    { serviceId },
  );
}

/** A provider of the same workspace that is not deleted. */
export async function findProvider(db: Db, workspaceId: string, serviceId: string): Promise<ProviderRow | undefined> {
  const [row] = await rowsOf<ProviderRow>(
    db,
    `select id, name, slug, kind, archived, lifecycle_status, (configuration ->> 'port')::int as port
       from services where id = :serviceId and workspace_id = :workspaceId and deleted_at is null`,
    { serviceId, workspaceId },
  );
  return row;
}
