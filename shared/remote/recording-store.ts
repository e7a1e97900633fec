import { type Db, oneRow, rowCountOf, valuesOf } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import type { RemoteSessionRow } from './store.js';

export type RecordedShell = RemoteSessionRow & { created_at: Date };

/** Stores one part of a shell's recording. Storing the same part again changes nothing. */
export async function insertRecordingPart(db: Db, id: string, part: number, content: Buffer): Promise<void> {
  await db.raw('insert into shell_recordings (session_id, part, content) values (?, ?, ?) on conflict do nothing', [
    id,
    part,
    content,
  ]);
}

/** Returns the recorded shells of a service that were actually opened, newest first. */
export function listRecordedShells(db: Db, serviceId: string, page: PageRequest): Promise<Page<RecordedShell>> {
  const query = db<RecordedShell>('remote_sessions')
    .where({ service_id: serviceId })
    .whereNotNull('opened_at')
    .where('recorded_until', '>', db.fn.now())
    .select('*');
  return fetchPage(query, 'remote_sessions', page);
}

/** Returns a recorded shell of a service; undefined if there is none or its recording has expired. */
export async function findRecordedShell(db: Db, serviceId: string, id: string): Promise<RecordedShell | undefined> {
  const row = await oneRow<RecordedShell>(
    db,
    'select * from remote_sessions where id = ? and service_id = ? and opened_at is not null and recorded_until > now()',
    [id, serviceId],
  );
  return row ?? undefined;
}

/** Returns the parts of a recording in order. */
export function readRecordingParts(db: Db, id: string): Promise<Buffer[]> {
  return valuesOf<Buffer>(db, 'select content from shell_recordings where session_id = ? order by part', [id]);
}

/** Deletes expired recordings. Returns the number of deleted parts. */
export function deleteExpiredRecordings(db: Db): Promise<number> {
  return rowCountOf(
    db,
    'delete from shell_recordings p using remote_sessions r where r.id = p.session_id and r.recorded_until <= now()',
  );
}
