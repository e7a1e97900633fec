import { getBackup } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { voidHold } from '../../shared/data/store.js';
import { operationStatus } from '../../shared/operations/store.js';
import { discardTree } from '../core/remove-folders.js';
import { DATA, restoreLeftovers, type VolumeFiles } from '../data/data-host.js';
import { type DataAccessDeps, holdServer, openDataServer } from '../data/server-access.js';
import { BackupError, ReleaseError } from '../failures/explained-errors.js';
import type { OperationRun } from '../operations/run-operation.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import type { JobDeps } from '../worker-deps.js';
import { isDiskFull } from './backup-archive.js';
import { checkArchive } from './check-archive.js';
import { decideRestore } from './restore-plan.js';
import { assertRoom } from './work-folders.js';

/** Prefixes of the folders that a restore makes on the volume, beside the server's folder. */
const BEFORE = 'before-';
const RESTORED = 'restored-';

type Deps = JobDeps & DataAccessDeps;

/**
 * Replaces the data of a database by that of a backup.
 * Unpacks and checks the copy beside the data, then swaps the two while the server is stopped. Keeps the previous data
 * until the operation has succeeded, and puts it back if the server does not start on the restored data. If this worker
 * dies, another one continues. Throws a `BackupError` or a `ReleaseError` with the reason.
 */
export async function performRestore(deps: Deps, run: OperationRun): Promise<void> {
  // From here on, only this claim holds the server; the hold of an earlier claim's worker ends.
  if (run.operation.fence > 1) await voidHold(deps.db, run.service.id);
  const volume = await deps.data.openVolume(run.service.id);
  try {
    await restoreOn(deps, volume, run);
  } finally {
    await volume.close();
  }
}

async function restoreOn(deps: Deps, volume: VolumeFiles, { operation, service, signal }: OperationRun): Promise<void> {
  const before = BEFORE + operation.id;
  const fresh = `${RESTORED}${operation.id}-${operation.fence}`;
  const swap = { volume, before, fresh, signal };
  const names = await volume.names();
  const decision = decideRestore({ before: names.includes(before), data: names.includes(DATA) });
  if (decision === 'confirm') return confirm(deps, service.id, swap);
  // An earlier worker died between its two renames. Put the data back, so that the service serves while the copy is
  // checked again.
  if (decision === 'putBack') await swapBack(deps, service.id, swap);

  const left = await restoreLeftovers(names, (id) => operationStatus(deps.db, id));
  // Removes what earlier claims of this operation unpacked and what earlier restores left.
  for (const name of names.filter((one) => one.startsWith(RESTORED + operation.id) || left.includes(one))) {
    await volume.remove(name);
  }
  const backup = operation.backup_id === null ? undefined : await getBackup(deps.db, operation.backup_id);
  if (backup?.status !== 'succeeded' || backup.service_id !== service.id || backup.deleted_at !== null) {
    throw new BackupError('the backup is gone');
  }
  const spec = await loadReleaseSpec(deps.db, deps.keyring, service.live_deployment_id ?? '');
  const maxBytes = await assertRoom(deps.config.dataDir, backup.data_bytes ?? 0, 'the restored data');
  const staging = volume.stagingOf(fresh);
  try {
    const id = `restore-check-${operation.id}-${operation.fence}`;
    await checkArchive(deps, { backup, spec, folder: staging, id, durable: true, maxBytes, signal });
    // The unpacked copy must be on the disk before it replaces anything.
    await volume.adopt(fresh, signal);
    await swapIn(deps, service.id, swap);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new BackupError('the disk of DATA_DIR is full; the service serves what it had before');
  } finally {
    await discardTree({ dataDir: deps.config.dataDir, log: deps.log }, staging);
    await volume.remove(fresh);
  }
}

interface Swap {
  volume: VolumeFiles;
  before: string;
  fresh: string;
  signal: AbortSignal;
}

async function swapIn(deps: Deps, serviceId: string, { volume, before, fresh, signal }: Swap): Promise<void> {
  let swapped = false;
  try {
    await holdServer(deps, serviceId, async (lost) => {
      const current = () => AbortSignal.any([signal, lost]).throwIfAborted();
      current();
      if ((await volume.names()).includes(DATA)) await volume.rename(DATA, before);
      try {
        current();
        await volume.rename(`${fresh}/${DATA}`, DATA);
      } catch (error) {
        // When this function returns, the server starts again.
        await volume.rename(before, DATA).catch(() => undefined);
        throw error;
      }
      swapped = true;
      await volume.writeMarker();
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!swapped) throw error;
    await swapBack(deps, serviceId, { volume, before, fresh, signal });
    throw refused(error);
  }
}

/** Puts the previous data back if it was moved aside, and removes what is in its place. */
async function swapBack(deps: Deps, serviceId: string, { volume, before, fresh, signal }: Swap): Promise<void> {
  if (!(await volume.names()).includes(before)) return;
  const refusedCopy = `${fresh}-refused`;
  await holdServer(deps, serviceId, async (lost) => {
    AbortSignal.any([signal, lost]).throwIfAborted();
    if ((await volume.names()).includes(DATA)) await volume.rename(DATA, refusedCopy);
    await volume.rename(before, DATA);
  });
  await volume.remove(refusedCopy);
}

/**
 * Continues after a worker died that had swapped the data. Starts the server; if that fails, puts the previous data
 * back.
 */
async function confirm(deps: Deps, serviceId: string, swap: Swap): Promise<void> {
  // That worker may have died before it had written the whole marker. No server starts without it.
  await swap.volume.writeMarker();
  try {
    await openDataServer(deps, serviceId);
    return;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
  }
  try {
    // When the hold ends, the server starts.
    await holdServer(deps, serviceId, async () => undefined);
  } catch (error) {
    swap.signal.throwIfAborted();
    await swapBack(deps, serviceId, swap);
    throw refused(error);
  }
}

function refused(error: unknown): BackupError {
  return new BackupError(
    `the server did not start with the restored data, and serves what it had before: ${errorMessage(error)}`,
  );
}
