import { findDataServer } from '../../shared/data/store.js';
import { isDataKind } from '../../shared/services/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { hostOfVolumes } from '../volumes/volume-store.js';
import type { JobDeps } from '../worker-deps.js';
import type { BackupSource } from './backup-source.js';
import { openDatabase } from './database-source.js';
import { openVolumes } from './volumes-source.js';

/** Returns the host whose workers can copy and restore a service's data; null if no host stores any. */
export async function hostOfSource({ db }: Pick<JobDeps, 'db'>, { id, kind }: ServiceRow): Promise<string | null> {
  return isDataKind(kind) ? ((await findDataServer(db, id))?.host_id ?? null) : hostOfVolumes(db, id);
}

/** Opens a service's data on this host for a backup. Throws `BackupError` or `ReleaseError` if it cannot be copied. */
export function openSource(deps: JobDeps, service: ServiceRow, helpers: JobHelpers): Promise<BackupSource> {
  return isDataKind(service.kind) ? openDatabase(deps, service, helpers) : openVolumes(deps, service);
}
