import type { Db } from '../../shared/core/database/database-client.js';
import { prepare, rowOfShared } from '../../shared/core/database/prepared.js';
import type { KeyScope, Role } from '../../shared/identity/policy.js';
import { HAS_SECOND_FACTOR } from '../../shared/identity/second-factor-store.js';
import type { WorkspaceAccessRow } from '../../shared/identity/store.js';
import { SERVICE_VIEW_COLUMNS, type ServiceView, serviceViewSql } from '../../shared/services/store.js';
import type { WorkspaceConfiguration } from '../../shared/workspaces/model.js';

interface KeyRow {
  key_id: string;
  key_workspace_id: string;
  user_id: string;
  scope: KeyScope;
  secret_hash: Buffer;
  usable: boolean;
  use_due: boolean;
  email: string;
  email_verified: boolean;
  second_factor: boolean;
}

/** The ids in a request's path. An id is null if its record is not to be read together with the key. */
export interface PathIds {
  workspaceId: string | null;
  serviceId: string | null;
}

export interface KeyAccess {
  key: KeyRow;
  /** Undefined if the path contains no workspace, or a workspace to which the key does not belong. */
  workspace: WorkspaceAccessRow | undefined;
  /** The service in the path, even if it is deleted. */
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
  u.email, u.email_verified_at is not null as email_verified, ${HAS_SECOND_FACTOR} as second_factor,
  w.id as w_id, w.name as w_name, w.plan as w_plan, w.configuration as w_configuration,
  w.created_at as w_created_at, w.updated_at as w_updated_at, m.role`;

const TABLES = `api_keys k join users u on u.id = k.user_id
  left join workspaces w on w.id = $2 and w.id = k.workspace_id
  left join memberships m on m.workspace_id = w.id and m.user_id = k.user_id`;

const FIND = prepare<Joined>(`select ${COLUMNS} from ${TABLES} where k.lookup = $1`);

/** The columns of the key, workspace and service are in one row, so no name may occur twice. */
const FIND_WITH_SERVICE = prepare<Joined & ServiceView>(
  `select ${COLUMNS}, ${SERVICE_VIEW_COLUMNS.map((name) => `v.${name}`).join(', ')}
     from ${TABLES}
     left join lateral (
       ${serviceViewSql('s.id = $3 and s.workspace_id = w.id and m.role is not null')}
     ) v on true
    where k.lookup = $1`,
);

/** Finds a key by its public part. The caller must compare the secret and check `usable`. */
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
