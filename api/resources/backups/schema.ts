import { type Static, Type } from 'typebox';
import { BACKUP_STATUSES, BACKUP_TRIGGERS, type BackupRow, expiryOf } from '../../../shared/backups/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { present } from '../../http/present.js';
import { ConfirmBody, described, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { OperationSchema } from '../operations/schema.js';

const BackupSchema = Strict(
  {
    id: Uuid,
    status: oneOf('BackupStatus', BACKUP_STATUSES),
    trigger: oneOf('BackupTrigger', BACKUP_TRIGGERS),
    /** Size in the backup store, in bytes; null until the backup has succeeded. */
    sizeBytes: Nullable(Type.Integer({ minimum: 0 })),
    createdAt: Timestamp,
    startedAt: Nullable(Timestamp),
    finishedAt: Nullable(Timestamp),
    expiresAt: Timestamp,
    error: Type.String(),
  },
  'Backup',
);
export type BackupView = Static<typeof BackupSchema>;

export function presentBackup(row: BackupRow, { configuration }: Pick<ServiceRow, 'configuration'>): BackupView {
  return present(BackupSchema, row, { expiresAt: expiryOf(row.created_at, configuration).toISOString() });
}

export const CreateBackupBody = Strict({
  pause: Type.Optional(
    Type.Boolean({
      description:
        'Only for volumes. true: pause the service while they are copied, so that all files are of one instant',
    }),
  ),
});

export const RestoreBody = Strict({
  ...ConfirmBody.properties,
  from: Type.Optional(
    described(
      Uuid,
      'The service that the backup is of, if it is another one of the workspace with the same kind of data',
    ),
  ),
});
export const BackupResponse = Strict({ backup: BackupSchema });
export const BackupListResponse = Strict({ backups: Type.Array(BackupSchema), page: PageSchema });
export const RestoreResponse = Strict({ queued: Type.Literal(true), operation: OperationSchema });
