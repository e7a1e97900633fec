import type { Knex } from 'knex';
import { v7 as uuidv7 } from 'uuid';
import { type Db, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { prepare, rowsOfPrepared } from '../core/database/prepared.js';

/** What a write was authorized by: a hook applies stacks for the user who made it. */
export const CREDENTIAL_KINDS = ['key', 'session', 'hook'] as const;

export interface AuditRow {
  id: string;
  workspace_id: string;
  actor: string;
  user_id: string;
  credential: (typeof CREDENTIAL_KINDS)[number];
  credential_id: string;
  operation: string;
  /** The request's path below the workspace, with the ids in it. */
  path: string;
  target_id: string | null;
  target_name: string;
  request_id: string;
  /** Further facts about the write, such as the command that a shell ran. */
  details: AuditDetails | null;
  created_at: Date;
}

export type AuditDetails = Readonly<Record<string, unknown>>;

/** An entry to write: who changed what. It never contains the written value. */
export type AuditEntry = Omit<AuditRow, 'id' | 'created_at' | 'details'> & Partial<Pick<AuditRow, 'details'>>;

const ENTRY_COLUMNS = [
  ...(['workspace_id', 'actor', 'user_id', 'credential', 'credential_id'] as const),
  ...(['operation', 'path', 'target_id', 'target_name', 'request_id', 'details'] as const),
];

/** SQL: the columns of an entry, in the order of `auditValues`. */
export const AUDIT_COLUMNS = ['id', ...ENTRY_COLUMNS].join(', ');

const INSERT = prepare(
  `insert into audit_entries (${AUDIT_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);

/** Records a write, in the transaction that makes it. */
export async function insertAuditEntry(trx: Transaction, entry: AuditEntry): Promise<void> {
  await rowsOfPrepared(trx, INSERT, auditValues(entry));
}

/** Returns the values of a new entry, for a statement that also makes the change. */
export function auditValues(entry: AuditEntry): unknown[] {
  return [uuidv7(), ...ENTRY_COLUMNS.map((column) => entry[column] ?? null)];
}

/** An audit entry with the name of the API key that was used; null if a session was used. */
export type AuditView = AuditRow & { key_name: string | null };

/** Returns the writes in a workspace, newest first. */
export function listAuditEntries(db: Db, workspaceId: string, page: PageRequest): Promise<Page<AuditView>> {
  const query: Knex.QueryBuilder<AuditView> = db('audit_entries as a')
    .leftJoin('api_keys as k', 'k.id', 'a.credential_id')
    .where('a.workspace_id', workspaceId)
    .select('a.*', 'k.name as key_name');
  return fetchPage(query, 'a', page);
}

/** How many entries one run of the retention sweep deletes. The next run continues. */
const BATCH = 20_000;

/** Deletes entries of more than 90 days. The database refuses to delete younger ones. Returns how many. */
export function deleteOldAuditEntries(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `delete from audit_entries where id in (
       select id from audit_entries where created_at < now() - interval '90 days' order by created_at limit ${BATCH})`,
  );
}
