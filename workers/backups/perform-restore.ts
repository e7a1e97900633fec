import { getBackup } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { operationStatus } from '../../shared/operations/store.js';
import { isDataKind } from '../../shared/services/model.js';
import { restoreLeftovers } from '../data/data-host.js';
import type { DataAccessDeps } from '../data/server-access.js';
import { BackupError } from '../failures/explained-errors.js';
import type { OperationRun } from '../operations/run-operation.js';
import { voidHold } from '../volumes/holds.js';
import type { JobDeps } from '../worker-deps.js';
import { isDiskFull } from './backup-archive.js';
import { decideRestore } from './restore-plan.js';
import { databaseTarget, type RestorePart, type RestoreTarget } from './restore-target.js';
import { volumesTarget } from './volumes-target.js';

/** Prefixes of the names of the folders that a restore creates on a volume, next to the data. */
const BEFORE = 'before-';
const RESTORED = 'restored-';

type Deps = JobDeps & DataAccessDeps;

/**
 * Replaces the data of a service with a backup. Puts the previous data back if the service does not start. If this
 * worker dies, another one continues. Throws a `BackupError` or a `ReleaseError`.
 */
export async function performRestore(deps: Deps, run: OperationRun): Promise<void> {
  const { service } = run;
  // If the worker of an earlier attempt died during the restore, it still holds the volumes.
  if (run.operation.fence > 1) await voidHold(deps.db, service.id);
  const target = isDataKind(service.kind) ? await databaseTarget(deps, service) : await volumesTarget(deps, service);
  try {
    await restoreOn(deps, target, run);
    await target.finish();
  } finally {
    await target.close();
  }
}

interface Swap {
  target: RestoreTarget;
  /** The name under which the previous data is kept on its volume. */
  before: string;
  /** The name of the folder that stands for the previous data on a volume that had none. */
  none: string;
  /** The name of the folder with the restored data. */
  fresh: string;
  signal: AbortSignal;
}

export async function restoreOn(
  deps: Pick<Deps, 'db'>,
  target: RestoreTarget,
  { operation, service, signal }: OperationRun,
): Promise<void> {
  const own = RESTORED + operation.id;
  const before = BEFORE + operation.id;
  const fresh = `${own}-${operation.fence}`;
  const none = `${own}-none`;
  const swap = { target, before, none, fresh, signal };
  const observed = await Promise.all(target.parts.map(async (part) => ({ part, names: await part.files.names() })));
  const decision = decideRestore(
    observed
      .filter(({ names }) => names.some((name) => name === before || name.startsWith(own)))
      .map(({ part, names }) => ({
        before: names.includes(before) || names.includes(none),
        data: names.includes(part.entry),
      })),
  );
  if (decision === 'confirm') return confirm(swap);
  // An earlier worker died after it had moved the data aside. Put the data back, so that the service runs meanwhile.
  if (decision === 'putBack') await swapBack(swap);

  for (const { part, names } of observed) {
    const left = await restoreLeftovers(names, (id) => operationStatus(deps.db, id));
    for (const name of names.filter((one) => one.startsWith(own) || left.includes(one))) await part.files.remove(name);
  }
  const backup = operation.backup_id === null ? undefined : await getBackup(deps.db, operation.backup_id);
  if (backup?.status !== 'succeeded' || backup.workspace_id !== service.workspace_id || backup.deleted_at !== null) {
    throw new BackupError('the backup is gone');
  }
  try {
    await target.unpack(backup, fresh, `restore-check-${operation.id}-${operation.fence}`, signal);
    await swapIn(swap);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new BackupError('the disk of DATA_DIR is full; the service serves what it had before');
  } finally {
    await target.discard(fresh);
  }
}

async function swapIn({ target, before, none, fresh, signal }: Swap): Promise<void> {
  let swapped = false;
  try {
    await target.whileStopped(async (lost) => {
      const current = () => AbortSignal.any([signal, lost]).throwIfAborted();
      const parts = await partsWith(fresh, target);
      try {
        for (const { files, entry } of parts) {
          current();
          const hadData = (await files.names()).includes(entry);
          // If this worker dies, the next one sees by `before` or `none` that the swap on this volume has begun.
          await (hadData ? files.rename(entry, before) : files.rename(fresh, none));
          current();
          await files.rename(`${hadData ? fresh : none}/${entry}`, entry);
        }
      } catch (error) {
        // The service starts again even if the restore fails, so it needs the previous data.
        for (const part of parts) await putBack(part, before, fresh).catch(() => undefined);
        await removeFrom(target, none);
        throw error;
      }
      swapped = true;
      for (const { files } of parts) await files.writeMarker();
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!swapped) throw error;
    await swapBack({ target, before, none, fresh, signal });
    throw refused(error);
  }
}

async function swapBack({ target, before, none, fresh, signal }: Swap): Promise<void> {
  await removeFrom(target, none);
  const parts = await partsWith(before, target);
  if (parts.length === 0) return;
  await target.whileStopped(async (lost) => {
    AbortSignal.any([signal, lost]).throwIfAborted();
    for (const part of parts) await putBack(part, before, fresh);
  });
  for (const { files } of parts) await files.remove(refusedName(fresh));
}

async function removeFrom(target: RestoreTarget, name: string): Promise<void> {
  for (const { files } of await partsWith(name, target)) await files.remove(name);
}

async function partsWith(name: string, { parts }: RestoreTarget): Promise<RestorePart[]> {
  const found: RestorePart[] = [];
  for (const part of parts) if ((await part.files.names()).includes(name)) found.push(part);
  return found;
}

async function putBack({ files, entry }: RestorePart, before: string, fresh: string): Promise<void> {
  const names = await files.names();
  if (!names.includes(before)) return;
  if (names.includes(entry)) await files.rename(entry, refusedName(fresh));
  await files.rename(before, entry);
}

function refusedName(fresh: string): string {
  return `${fresh}-refused`;
}

/** Continues after the death of a worker that had swapped the data. */
async function confirm(swap: Swap): Promise<void> {
  const { target, before, none, signal } = swap;
  // The dead worker may not have written the marker, without which the service does not start.
  const parts = [...(await partsWith(before, target)), ...(await partsWith(none, target))];
  for (const { files } of parts) await files.writeMarker();
  if (await target.isRunning()) return;
  try {
    // Restarts the service: `whileStopped` stops it, does nothing here, and starts it again.
    await target.whileStopped(async () => undefined);
  } catch (error) {
    signal.throwIfAborted();
    await swapBack(swap);
    throw refused(error);
  }
}

function refused(error: unknown): BackupError {
  return new BackupError(
    `the service did not start with the restored data, and serves what it had before: ${errorMessage(error)}`,
  );
}
