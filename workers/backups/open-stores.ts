import type { Config } from '../../shared/core/config.js';
import type { BackupStore } from './backup-store.js';
import { FolderStore } from './folder-store.js';

/** The stores that this host can reach. New archives go to `current`, but archives in all stores can be read. */
export interface BackupStores {
  current: BackupStore;
  all: readonly BackupStore[];
}

/** Opens the configured stores. Connections are opened on first use. */
export async function openBackupStores(
  { dataDir, backups }: Pick<Config, 'dataDir' | 'backups'>,
  { hostId, installationId }: { hostId: string; installationId: string },
): Promise<BackupStores> {
  const folder = new FolderStore(dataDir, hostId);
  if (backups.bucket === null) return { current: folder, all: [folder] };
  // Imported on demand: the S3 client is large, and most installations do not use it.
  const { S3Store } = await import('./s3-store.js');
  // The prefix prevents installations that share a bucket from removing each other's archives as leftovers.
  const s3 = new S3Store({ ...backups, prefix: `${backups.prefix}${installationId}/` });
  return { current: backups.store === 's3' ? s3 : folder, all: [folder, s3] };
}
