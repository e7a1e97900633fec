import { execFile } from 'node:child_process';
import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getBackup } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/errors.js';
import { exists } from '../../shared/core/exists.js';
import { voidHold } from '../../shared/data/store.js';
import { type DataAccessDeps, holdServer, openDataServer } from '../data/server-access.js';
import { loadReleaseSpec } from '../deploy/release-spec.js';
import { discardTree } from '../folders.js';
import type { OperationRun } from '../handlers/run-operation.js';
import { ReleaseError } from '../runtime/runtime-driver.js';
import type { JobDeps } from '../worker-deps.js';
import { isDiskFull } from './archive.js';
import { BackupError } from './backup-error.js';
import { checkArchive } from './check-archive.js';
import { DATA } from './fresh-server.js';
import { decideRestore } from './restore-plan.js';
import { assertRoom } from './work-folders.js';

const run = promisify(execFile);

/** The names of what a restore has on the volume, beside the server's folder. */
const BEFORE = 'before-';
const RESTORED = 'restored-';

type Deps = JobDeps & DataAccessDeps;

/**
 * Replaces the data of a service by that of a backup. The copy is unpacked and checked beside the data, and swapped in while the
 * server is stopped. The data before is kept until the operation has succeeded; if the server does not start on the restored data,
 * it serves on. If this worker dies, another one goes on. Throws a `BackupError` or a `ReleaseError` with the reason.
 */
export async function performRestore(deps: Deps, { operation, service, signal }: OperationRun): Promise<void> {
  const folder = deps.data.volumeOf(service.id).folder;
  const before = join(folder, BEFORE + operation.id);
  const data = deps.data.volumeOf(service.id).data;
  const fresh = join(folder, `${RESTORED}${operation.id}-${operation.fence}`);
  const swap = { data, before, fresh, folder, signal };
  // Only this operation holds the server now: the worker of an earlier claim has lost it.
  if (operation.fence > 1) await voidHold(deps.db, service.id);
  const decision = decideRestore({ before: await exists(before), data: await exists(data) });
  if (decision === 'confirm') return confirm(deps, service.id, swap);
  // The worker of an earlier claim died between its two renames: the service serves again while the copy is checked anew.
  if (decision === 'putBack') await swapBack(deps, service.id, swap);

  // The volume may have been lost with its disk.
  await mkdir(folder, { recursive: true, mode: 0o711 });
  await removeEarlier(deps, folder, operation.id);
  const backup = operation.backup_id === null ? undefined : await getBackup(deps.db, operation.backup_id);
  if (backup?.status !== 'succeeded' || backup.service_id !== service.id || backup.deleted_at !== null) {
    throw new BackupError('the backup is gone');
  }
  const spec = await loadReleaseSpec(deps.db, deps.keyring, service.live_deployment_id ?? '');
  await assertRoom(folder, backup.data_bytes ?? 0, 'the restored data');
  try {
    const id = `restore-check-${operation.id}-${operation.fence}`;
    await checkArchive(deps, { backup, spec, folder: fresh, id, durable: true, signal });
    // What was unpacked outlives the host's power before it replaces anything.
    await run('sync', process.platform === 'linux' ? ['-f', fresh] : []);
    await swapIn(deps, service.id, swap);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new BackupError('the disk of DATA_DIR is full; the service serves what it had before');
  } finally {
    await discardTree({ dataDir: deps.config.dataDir, log: deps.log }, fresh);
  }
}

interface Swap {
  data: string;
  before: string;
  fresh: string;
  folder: string;
  signal: AbortSignal;
}

async function swapIn(deps: Deps, serviceId: string, swap: Swap): Promise<void> {
  let swapped = false;
  try {
    await holdServer(deps, serviceId, async (_volume, lost) => {
      const current = () => AbortSignal.any([swap.signal, lost]).throwIfAborted();
      current();
      if (await exists(swap.data)) await rename(swap.data, swap.before);
      try {
        current();
        await rename(join(swap.fresh, DATA), swap.data);
      } catch (error) {
        // The server starts again when this returns.
        await rename(swap.before, swap.data).catch(() => undefined);
        throw error;
      }
      swapped = true;
      await deps.data.volumeOf(serviceId).writeMarker();
    });
  } catch (error) {
    swap.signal.throwIfAborted();
    if (!swapped) throw error;
    await swapBack(deps, serviceId, swap);
    throw refused(error);
  }
}

/** Puts the data before back into its place, if it is not there. */
async function swapBack(deps: Deps, serviceId: string, { before, data, fresh, folder, signal }: Swap): Promise<void> {
  if (!(await exists(before))) return;
  await holdServer(deps, serviceId, async (_volume, lost) => {
    AbortSignal.any([signal, lost]).throwIfAborted();
    if (await exists(data)) await rename(data, `${fresh}-refused`);
    await rename(before, data);
    await syncFolder(folder);
  });
  await discardTree({ dataDir: deps.config.dataDir, log: deps.log }, `${fresh}-refused`);
}

/** A worker that died has swapped the data. If the server does not run, it is started; if it does not start, the data before is put back. */
async function confirm(deps: Deps, serviceId: string, swap: Swap): Promise<void> {
  try {
    await openDataServer(deps, serviceId);
    return;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
  }
  try {
    // What is not held is started again.
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

/** Removes what earlier claims of this operation have unpacked. */
async function removeEarlier({ config, log }: Deps, folder: string, operationId: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(RESTORED + operationId))
      await discardTree({ dataDir: config.dataDir, log }, join(folder, name));
  }
}

/**
 * Removes what restores have left on the volumes of this host: copies of operations that have ended, and the data before those
 * that have succeeded. The data before one that failed stays if it is still there: it may be all there is.
 */
export async function removeRestoreLeftovers(
  { config: { dataDir }, log }: Pick<JobDeps, 'config' | 'log'>,
  statusOf: (operationId: string) => Promise<string | null>,
  only?: string,
): Promise<number> {
  const volumes = join(dataDir, 'volumes');
  let removed = 0;
  for (const volume of only === undefined ? await readdir(volumes).catch(() => []) : [only]) {
    for (const name of await readdir(join(volumes, volume)).catch(() => [])) {
      const [, kind, operationId] = /^(before|restored)-([0-9a-f-]{36})/.exec(name) ?? [];
      if (kind === undefined || operationId === undefined) continue;
      const status = await statusOf(operationId);
      const done = kind === 'before' ? ['succeeded'] : ['succeeded', 'failed'];
      if (status === null || !done.includes(status)) continue;
      await discardTree({ dataDir, log }, join(volumes, volume, name));
      removed += 1;
    }
  }
  return removed;
}

/** Makes renames durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}
