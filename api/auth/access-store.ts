import type { Db } from '../../shared/core/database/database-client.js';
import { prepare, rowOfShared } from '../../shared/core/database/prepared.js';
import type { KeyScope, Role } from '../../shared/identity/policy.js';
import type { WorkspaceAccessRow } from '../../shared/identity/store.js';
import { SERVICE_VIEW_COLUMNS, type ServiceView, serviceViewSql } from '../../shared/services/store.js';
import type { WorkspaceConfiguration } from '../../shared/workspaces/model.js';

/** A key with its owner's current state. */
interface KeyRow {
  key_id: string;
  key_workspace_id: string;
  user_id: string;
  scope: KeyScope;
  secret_hash: Buffer;
  /** True if the key is neither revoked nor expired. */
  usable: boolean;
  /** True if its last recorded use is more than a minute ago. */
  use_due: boolean;
  email: string;
  email_verified: boolean;
  second_factor: boolean;
}

/** The ids in a request's path; null for those that it does not have. */
export interface PathIds {
  workspaceId: string | null;
  serviceId: string | null;
}

/** Everything that a request with a key needs: the key, and the workspace and the service of its path. */
export interface KeyAccess {
  key: KeyRow;
  /** Undefined if the path names none, or if it does not exist or belongs to another key. */
  workspace: WorkspaceAccessRow | undefined;
  /** The path's service in that workspace, even if it was deleted. Undefined if it does not exist. */
  service: ServiceView | undefined;
}

type Joined = KeyRow & {
  w_id: string | null;
  w_name: string;
  w_plan: string;
  w_configuration: Partial<WorkspaceConfiguration>;
  w_created_at: Date;
  w_updated_at: Date;
  role: Role | null;
};

const COLUMNS = `k.id as key_id, k.workspace_id as key_workspace_id, k.user_id, k.scope, k.secret_hash,
  k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) as usable,
  k.last_used_at is null or k.last_used_at < now() - interval '1 minute' as use_due,
  u.email, u.email_verified_at is not null as email_verified, u.totp_confirmed_at is not null as second_factor,
  w.id as w_id, w.name as w_name, w.plan as w_plan, w.configuration as w_configuration,
  w.created_at as w_created_at, w.updated_at as w_updated_at, m.role`;

const TABLES = `api_keys k join users u on u.id = k.user_id
  left join workspaces w on w.id = $2 and w.id = k.workspace_id
  left join memberships m on m.workspace_id = w.id and m.user_id = k.user_id`;

const FIND = prepare<Joined>(`select ${COLUMNS} from ${TABLES} where k.lookup = $1`);

/** Selects the key together with the service. No column of a service has the name of a column above. */
const FIND_WITH_SERVICE = prepare<Joined & ServiceView>(
  `select ${COLUMNS}, ${SERVICE_VIEW_COLUMNS.map((name) => `v.${name}`).join(', ')}
     from ${TABLES}
     left join lateral (
       ${serviceViewSql('s.id = $3 and s.workspace_id = w.id and m.role is not null')}
     ) v on true
    where k.lookup = $1`,
);

/**
 * Returns the key with this public part, with the path's workspace and service, as they are now.
 * Nothing is cached, so a revoked key or an ended membership counts at once. The caller compares the secret and checks
 * `usable`. Returns undefined without such a key.
 */
export async function findKeyAccess(
  db: Db,
  lookup: string,
  { workspaceId, serviceId }: PathIds,
): Promise<KeyAccess | undefined> {
  if (workspaceId === null || serviceId === null) {
    const row = await rowOfShared(db, FIND, [lookup, workspaceId]);
    return row === null ? undefined : { key: row, workspace: workspaceOf(row), service: undefined };
  }
  const row = await rowOfShared(db, FIND_WITH_SERVICE, [lookup, workspaceId, serviceId]);
  if (row === null) return undefined;
  return { key: row, workspace: workspaceOf(row), service: row.id === null ? undefined : row };
}

function workspaceOf(row: Joined): WorkspaceAccessRow | undefined {
  if (row.w_id === null) return undefined;
  return {
    id: row.w_id,
    name: row.w_name,
    plan: row.w_plan,
    configuration: row.w_configuration,
    created_at: row.w_created_at,
    updated_at: row.w_updated_at,
    role: row.role,
  };
}
