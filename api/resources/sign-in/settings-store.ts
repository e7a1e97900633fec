import { type Db, oneRow, rowsOf, type Transaction } from '../../../shared/core/database/database-client.js';
import type { Role } from '../../../shared/identity/policy.js';

/** Roles that a sign-in can grant. Owners can be appointed only manually, by an owner. */
export const SIGN_IN_ROLES = ['viewer', 'developer', 'admin'] as const;

export interface SignInSettings {
  /** A sign-in adds a person as a member if the person's verified e-mail address is in one of these domains. */
  allowedDomains: string[];
  role: (typeof SIGN_IN_ROLES)[number];
  /** The claim whose values are mapped to roles; null if every member gets `role`. */
  roleClaim: string | null;
  roles: Record<string, (typeof SIGN_IN_ROLES)[number]>;
  /** False if the workspace refuses sessions that were started with a password. */
  passwords: boolean;
}

const DEFAULT_SIGN_IN: SignInSettings = {
  allowedDomains: [],
  role: 'developer',
  roleClaim: null,
  roles: {},
  passwords: true,
};

const SETTINGS = `allowed_domains as "allowedDomains", role, role_claim as "roleClaim", roles, passwords`;

export async function findSignInSettings(db: Db, workspaceId: string): Promise<SignInSettings> {
  const select = `select ${SETTINGS} from workspace_sign_in where workspace_id = :workspaceId`;
  return (await oneRow<SignInSettings>(db, select, { workspaceId })) ?? DEFAULT_SIGN_IN;
}

export async function saveSignInSettings(trx: Transaction, workspaceId: string, given: SignInSettings): Promise<void> {
  await trx.raw(
    `insert into workspace_sign_in (workspace_id, allowed_domains, role, role_claim, roles, passwords)
     values (:workspaceId, :allowedDomains, :role, :roleClaim, cast(:roles as jsonb), :passwords)
     on conflict (workspace_id) do update set allowed_domains = excluded.allowed_domains, role = excluded.role,
       role_claim = excluded.role_claim, roles = excluded.roles, passwords = excluded.passwords, updated_at = now()`,
    { workspaceId, ...given, roles: JSON.stringify(given.roles) },
  );
}

export async function allowPasswords(trx: Transaction, workspaceId: string): Promise<void> {
  await trx.raw('update workspace_sign_in set passwords = true, updated_at = now() where workspace_id = ?', [
    workspaceId,
  ]);
}

/** A workspace that a person can join by signing in, or is already a member of. */
export type SignInWorkspace = SignInSettings & {
  workspaceId: string;
  memberRole: Role | null;
  /** True if a sign-in added the person as a member. */
  bySignIn: boolean;
  /** True if an earlier sign-in added the person as a member, even if an admin has removed them since. */
  admittedBefore: boolean;
};

/** Returns the workspaces that admit this e-mail domain or that the user joined by an earlier sign-in. */
export function signInWorkspaces(db: Db, user: { userId: string | null; domain: string | null }) {
  return rowsOf<SignInWorkspace>(
    db,
    `select s.workspace_id as "workspaceId", s.allowed_domains as "allowedDomains", s.role, s.role_claim as "roleClaim",
            s.roles, s.passwords, m.role as "memberRole", coalesce(m.by_sign_in, false) as "bySignIn",
            a.user_id is not null as "admittedBefore"
       from workspace_sign_in s
       left join memberships m on m.workspace_id = s.workspace_id and m.user_id = :userId
       left join sign_in_admissions a on a.workspace_id = s.workspace_id and a.user_id = :userId
      where s.allowed_domains @> array[cast(:domain as text)] or m.by_sign_in
      order by s.workspace_id`,
    user,
  );
}

export async function domainsOfOwners(db: Db, workspaceId: string, domains: string[]): Promise<string[]> {
  const rows = await rowsOf<{ domain: string }>(
    db,
    `select distinct split_part(u.email, '@', -1) as domain
       from memberships m join users u on u.id = m.user_id
      where m.workspace_id = :workspaceId and m.role = 'owner' and u.email_verified_at is not null
        and split_part(u.email, '@', -1) = any(:domains)`,
    { workspaceId, domains },
  );
  return rows.map(({ domain }) => domain);
}
