import type { BackupRow } from '../../shared/backups/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { discardTree } from '../core/remove-folders.js';
import { DATA, type VolumeFiles } from '../data/data-host.js';
import { type DataAccessDeps, holdServer, openDataServer } from '../data/server-access.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import type { JobDeps } from '../worker-deps.js';
import { adoptionOf } from './adopt-postgres.js';
import { checkArchive } from './check-archive.js';
import { assertRoom } from './work-folders.js';

/** One volume on which a restore replaces an entry: a folder, or the image of a file system. */
export interface RestorePart {
  files: VolumeFiles;
  entry: string;
}

/** What a restore replaces: the data of a database, or the volumes of a service. */
export interface RestoreTarget {
  readonly parts: readonly RestorePart[];
  /** Unpacks and checks a backup in folders named `fresh`, next to the data. Throws a `BackupError`. */
  unpack(backup: BackupRow, fresh: string, label: string, signal: AbortSignal): Promise<void>;
  /** Removes the unpacked data that was not put into place. */
  discard(fresh: string): Promise<void>;
  /** Stops the service, runs `work` and starts it again, even if `work` fails. Rejects if any of this fails. */
  whileStopped(work: (lost: AbortSignal) => Promise<void>): Promise<void>;
  isRunning(): Promise<boolean>;
  /** Called when the restored data is final. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the data of a database for a restore. */
export async function databaseTarget(deps: JobDeps & DataAccessDeps, service: ServiceRow): Promise<RestoreTarget> {
  const files = await deps.data.openVolume(service.id);
  return {
    parts: [{ files, entry: DATA }],
    async unpack(backup, fresh, label, signal) {
      const spec = await loadReleaseSpec(deps.db, deps.keyring, service.live_deployment_id ?? '');
      const maxBytes = await assertRoom(deps.config.dataDir, backup.data_bytes ?? 0, 'the restored data');
      const folder = files.stagingOf(fresh);
      const adopt = await adoptionOf(deps, backup, service);
      await checkArchive(deps, { backup, spec, folder, id: label, durable: true, adopt, maxBytes, signal });
      await files.adopt(fresh, signal);
    },
    async discard(fresh) {
      await discardTree({ dataDir: deps.config.dataDir, log: deps.log }, files.stagingOf(fresh));
      await files.remove(fresh);
    },
    whileStopped: (work) => holdServer(deps, service.id, work),
    async isRunning() {
      try {
        await openDataServer(deps, service.id);
        return true;
      } catch (error) {
        if (!(error instanceof ReleaseError)) throw error;
        return false;
      }
    },
    finish: async () => undefined,
    close: () => files.close(),
  };
}
