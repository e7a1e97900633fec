import type { Transaction } from '../core/database/database-client.js';
import { conflict } from '../core/error-registry.js';
import { storageBytes } from '../data/model.js';
import { findDataServer } from '../data/store.js';
import { assertNotRestoring } from '../operations/commands.js';
import { isDataKind } from '../services/model.js';
import type { ServiceRow } from '../services/rows.js';
import { listVolumes } from '../volumes/store.js';
import { type DataFacts, restoreMisfit } from './restore-fit.js';
import { findBackup } from './store.js';

type Service = Pick<ServiceRow, 'id' | 'kind' | 'configuration'>;

/** Throws conflict unless the backup can be restored into `service` now. Throws `missing()` if there is no backup. */
export async function assertRestorable(
  trx: Transaction,
  { service, from, backupId, missing }: { service: Service; from: Service; backupId: string; missing: () => Error },
): Promise<void> {
  const backup = await findBackup(trx, from.id, backupId);
  if (!backup) throw missing();
  if (backup.status !== 'succeeded') {
    throw conflict(`Only a backup that succeeded can be restored; this one is ${backup.status}`);
  }
  const misfit =
    from.id === service.id
      ? null
      : restoreMisfit(await factsOf(trx, from), await factsOf(trx, service), backup.data_bytes ?? 0);
  if (misfit !== null) throw conflict(misfit);
  await assertNotRestoring(trx, service.id);
}

async function factsOf(trx: Transaction, { id, kind, configuration }: Service): Promise<DataFacts> {
  if (!isDataKind(kind)) return { kind, version: '', storageBytes: 0, volumes: await listVolumes(trx, id) };
  const server = await findDataServer(trx, id);
  const version = server?.version ?? (kind === 'postgres' ? configuration.databaseVersion : '');
  return { kind, version, storageBytes: storageBytes(configuration.plan), volumes: [] };
}
