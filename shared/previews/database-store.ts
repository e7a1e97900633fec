import { type Db, rowsOf, type Transaction } from '../core/database/database-client.js';

export interface OwnDatabaseRow {
  service_id: string;
  preview_id: string;
  original_id: string;
  backup_id: string | null;
}

export function ownDatabases(db: Db, previewId: string): Promise<OwnDatabaseRow[]> {
  return rowsOf<OwnDatabaseRow>(db, 'select * from preview_databases where preview_id = ?', [previewId]);
}

export async function insertOwnDatabase(trx: Transaction, row: OwnDatabaseRow): Promise<void> {
  await trx<OwnDatabaseRow>('preview_databases').insert(row);
}

/**
 * Returns databases whose preview is deleted, but whose own deletion is not in progress. Includes a database whose
 * deletion failed over a minute ago.
 */
export function abandonedDatabases(db: Db): Promise<{ serviceId: string }[]> {
  return rowsOf(
    db,
    `select d.service_id as "serviceId" from preview_databases d join services p on p.id = d.preview_id
       join services s on s.id = d.service_id
      where p.deleted_at is not null and s.deleted_at is null
        and not exists (select from operations o where o.service_id = s.id and o.kind = 'delete'
                           and (o.finished_at is null or o.finished_at > now() - interval '1 minute'))
      order by d.service_id limit 100`,
  );
}
