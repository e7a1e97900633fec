import type { Knex } from 'knex';
import { v7 as uuidv7 } from 'uuid';
import { type Db, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { prepare, rowsOfPrepared } from '../core/database/prepared.js';

/**
 * `hook`: a push applied a stack for the hook's creator. `provider`: a sign-in with the OpenID Connect provider made
 * the user a member or changed their role.
 */
export const CREDENTIAL_KINDS = ['key', 'session', 'hook', 'provider'] as const;

export interface AuditRow {
  id: string;
  workspace_id: string;
  actor: string;
  user_id: string;
  credential: (typeof CREDENTIAL_KINDS)[number];
  credential_id: string;
  operation: string;
  /** The request's path within the workspace, including ids. */
  path: string;
  target_id: string | null;
  target_name: string;
  request_id: string;
  /** Further facts about the write, such as the command that was run in a shell. */
  details: AuditDetails | null;
  created_at: Date;
}

export type AuditDetails = Readonly<Record<string, unknown>>;

/** An audit entry to store. It must not contain secret values, such as the value of a variable. */
export type AuditEntry = Omit<AuditRow, 'id' | 'created_at' | 'details'> & Partial<Pick<AuditRow, 'details'>>;

const ENTRY_COLUMNS = [
  ...(['workspace_id', 'actor', 'user_id', 'credential', 'credential_id'] as const),
  ...(['operation', 'path', 'target_id', 'target_name', 'request_id', 'details'] as const),
];

/** The columns of the values that `auditValues` returns, in the same order. */
export const AUDIT_COLUMNS = ['id', ...ENTRY_COLUMNS].join(', ');

const INSERT = prepare(
  `insert into audit_entries (${AUDIT_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);

/** Records a write. Must run in the transaction that performs the write. */
export async function insertAuditEntry(trx: Transaction, entry: AuditEntry): Promise<void> {
  await rowsOfPrepared(trx, INSERT, auditValues(entry));
}

/** Returns the values of a new audit entry, for a statement that also performs the write. */
export function auditValues(entry: AuditEntry): unknown[] {
  return [uuidv7(), ...ENTRY_COLUMNS.map((column) => entry[column] ?? null)];
}

/** An audit entry, with the name of the API key that was used; null if there was none. */
export type AuditView = AuditRow & { key_name: string | null };

export function listAuditEntries(db: Db, workspaceId: string, page: PageRequest): Promise<Page<AuditView>> {
  const query: Knex.QueryBuilder<AuditView> = db('audit_entries as a')
    .leftJoin('api_keys as k', 'k.id', 'a.credential_id')
    .where('a.workspace_id', workspaceId)
    .select('a.*', 'k.name as key_name');
  return fetchPage(query, 'a', page);
}

/** Maximum number of entries that one sweep deletes. The next sweep continues. */
const BATCH = 20_000;

/** Deletes audit entries older than 90 days. Returns their number. The database refuses to delete newer ones. */
export function deleteOldAuditEntries(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `delete from audit_entries where id in (
       select id from audit_entries where created_at < now() - interval '90 days' order by created_at limit ${BATCH})`,
  );
}
