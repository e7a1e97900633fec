import { type Db, oneRow, rowsOf, theRow } from '../core/database/database-client.js';
import { SEAL_OVERHEAD_BYTES } from '../secrets/keyring.js';
import type { DeploymentScope } from './model.js';
import { groupIsProtected } from './snapshot-store.js';

export interface VariableSource {
  id: string;
  key: string;
  sealed: Buffer | null;
  reference_service_id: string | null;
  reference_key: string | null;
  /** The variable's environment group; null for the service's own variable. */
  group_id: string | null;
  group_name: string | null;
  /** True if the group is restricted to a protected environment or linked to a service in one. */
  group_protected: boolean;
}

export interface ProviderRow {
  id: string;
  name: string;
  slug: string;
  kind: string;
  archived: boolean;
  port: number;
  /** The service's environment if it is protected; null otherwise. */
  protected_environment: string | null;
}

/** A service's own variable overrides those of its groups. Among groups, the one that was linked last wins. */
function reaching(and = ''): string {
  return `select distinct on (key) * from (
       select v.id, v.key, v.sealed, v.reference_service_id, v.reference_key, v.group_id, g.name as group_name,
              0 as rank, l.created_at as linked_at
         from environment_group_services l join environment_groups g on g.id = l.group_id
         join variables v on v.group_id = g.id where l.service_id = :serviceId and v.scope in ('all', :scope) ${and}
       union all
       select v.id, v.key, v.sealed, v.reference_service_id, v.reference_key, null, null, 1, v.created_at
         from variables v where v.service_id = :serviceId and v.scope in ('all', :scope) ${and}
     ) found order by key, rank desc, linked_at desc, id desc`;
}

function withProtection(variables: string): string {
  return `select r.id, r.key, r.sealed, r.reference_service_id, r.reference_key, r.group_id, r.group_name,
            g.id is not null and ${groupIsProtected('g')} as group_protected
       from (${variables}) r left join environment_groups g on g.id = r.group_id order by r.key`;
}

/** Returns the variables that a service gets from itself and its groups, each key once. */
export async function variablesReaching(db: Db, serviceId: string, scope: DeploymentScope): Promise<VariableSource[]> {
  return rowsOf<VariableSource>(db, withProtection(reaching()), { serviceId, scope });
}

/** Returns how many variables a service gets, and their size in bytes. Values of references do not count. */
export function sizeReaching(
  db: Db,
  serviceId: string,
  scope: DeploymentScope,
): Promise<{ count: number; bytes: number }> {
  return theRow(
    db,
    `select count(*) as count, coalesce(sum(octet_length(key) + greatest(0, coalesce(length(sealed), 0) - ${SEAL_OVERHEAD_BYTES})), 0)::bigint
              as bytes from (${reaching()}) r`,
    { serviceId, scope },
  );
}

/** A service and its variable. One statement reads both: the service could become protected between two reads. */
export interface Referred {
  provider: ProviderRow;
  /** Undefined if the provider has no variable with this key. */
  variable: VariableSource | undefined;
}

/** Returns a service and its variable with this key. Deleted services and other workspaces' services are not found. */
export async function findReferencedVariable(
  db: Db,
  {
    workspaceId,
    serviceId,
    key,
    scope,
  }: { workspaceId: string; serviceId: string; key: string; scope: DeploymentScope },
): Promise<Referred | undefined> {
  const row = await oneRow<{ provider: ProviderRow; variable: VariableSource | null; sealed: Buffer | null }>(
    db,
    `select jsonb_build_object('id', s.id, 'name', s.name, 'slug', s.slug, 'kind', s.kind, 'archived', s.archived,
              'port', (s.configuration ->> 'port')::int,
              'protected_environment', case when e.protected then e.name end) as provider,
            case when v.id is not null then jsonb_build_object('id', v.id, 'key', v.key,
              'reference_service_id', v.reference_service_id, 'reference_key', v.reference_key,
              'group_id', v.group_id, 'group_name', v.group_name, 'group_protected', v.group_protected) end as variable,
            v.sealed
       from services s left join environments e on e.id = s.environment_id
       left join (${withProtection(reaching('and v.key = :key'))}) v on true
      where s.id = :serviceId and s.workspace_id = :workspaceId and s.deleted_at is null`,
    { serviceId, workspaceId, key, scope },
  );
  if (row === null) return undefined;
  const { provider, variable, sealed } = row;
  return { provider, variable: variable ? { ...variable, sealed } : undefined };
}
