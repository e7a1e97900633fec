import { type BackupRow, expiryOf } from '../../../shared/backups/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import type { BackupView } from './schema.js';

export function presentBackup(row: BackupRow, { configuration }: Pick<ServiceRow, 'configuration'>): BackupView {
  return {
    id: row.id,
    status: row.status,
    trigger: row.trigger,
    sizeBytes: row.size_bytes,
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    expiresAt: expiryOf(row.created_at, configuration).toISOString(),
    error: row.error,
  };
}
