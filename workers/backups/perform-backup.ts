import { BACKUPS } from '../../shared/backups/kind.js';
import { type BackupRow, objectName } from '../../shared/backups/model.js';
import { recordArchive } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { SEALED, sealIn } from '../../shared/secrets/sealed-columns.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService } from '../../shared/services/store.js';
import { discardTree } from '../core/remove-folders.js';
import { withinTime } from '../core/within-time.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { type Handler, type Outcome, perform, type Work } from '../engine/perform-record.js';
import { BackupError } from '../failures/explained-errors.js';
import { Interrupted } from '../failures/interruption-errors.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import { voidHold } from '../volumes/holds.js';
import type { JobDeps } from '../worker-deps.js';
import { newArchiveKey } from './archive-cipher.js';
import { ArchiveWriter, isDiskFull } from './backup-archive.js';
import type { BackupSource } from './backup-source.js';
import type { BackupStore } from './backup-store.js';
import { checkArchive } from './check-archive.js';
import { mailFailedBackup } from './failure-mail.js';
import { hostOfSource, openSource } from './open-source.js';
import { assertRoom, checkFolder, MINUTE, megabytes, timeFor } from './work-folders.js';

/** Delay after which a backup is due again if a worker on a host without the data has claimed it, in milliseconds. */
const ELSEWHERE_MS = 1_000;
/** A backup fails if no worker on the data's host has claimed it this long after its creation, in milliseconds. */
const MAX_WAIT_MS = 60 * 60_000;
/** Timeout for copying into the store, in milliseconds: a fixed part, and a part for each gibibyte. */
const COPY_MS = { always: 15 * MINUTE, perGigabyte: 5 * MINUTE };

/** Handles the queue `backup`: performs one backup. */
export function backupJob(deps: JobDeps, { backupId }: Payloads['backup'], helpers: JobHelpers): Promise<string> {
  return perform(deps, backupHandler(deps), backupId, helpers).finally(() => deps.dispatcher.wake());
}

/** If a worker loses its lease during a backup, the next attempt or a sweep removes the archive. */
function backupHandler(deps: JobDeps): Handler<BackupRow> {
  return {
    kind: BACKUPS,
    onEnd: { sealed_key: null },
    run: (work) => makeBackup(deps, work),
    beforeEnd: ({ record: { id, service_id } }, { cause }) =>
      deps.logs.sayToLive(service_id, `Backup ${id} failed: ${cause}`, 'error'),
    async afterEnd({ record }, { cause }) {
      const { id: backupId, service_id: serviceId } = record;
      deps.log.warn({ event: 'backup.failed', backupId, serviceId }, `a backup failed: ${cause}`);
      const service = await getService(deps.db, serviceId);
      if (service) await mailFailedBackup(deps, service, cause);
    },
  };
}

async function makeBackup(deps: JobDeps, { record: backup, signal, helpers }: Work<BackupRow>): Promise<Outcome> {
  const service = await getService(deps.db, backup.service_id);
  if (!service) throw new BackupError('the service is gone');
  if ((await hostOfSource(deps, service)) !== deps.data.hostId) return leave(backup);
  if (service.lifecycle_status !== 'active') throw new BackupError(`the service is ${service.lifecycle_status}`);
  // If the worker of an earlier attempt died while it paused the service, it still holds the volumes.
  if (backup.pause && backup.fence > 1) await voidHold(deps.db, service.id);
  const source = await openSource(deps, service, helpers);
  try {
    const { sizeBytes, dataBytes, sentence } = await makeArchive(deps, backup, service, source, signal);
    // Log first: the log must be complete when the backup is shown as finished.
    await deps.logs.sayToLive(service.id, `Backup ${backup.id} succeeded: ${sentence}`);
    return { event: 'succeeded', set: { size_bytes: sizeBytes, data_bytes: dataBytes, error: '' } };
  } catch (error) {
    throw isDiskFull(error) ? new BackupError('the disk is full') : error;
  }
}

async function makeArchive(
  deps: JobDeps,
  backup: BackupRow,
  service: ServiceRow,
  source: BackupSource,
  signal: AbortSignal,
): Promise<{ sizeBytes: number; dataBytes: number; sentence: string }> {
  const store = deps.backups.stores.current;
  const object = objectName(service.id, backup.id, backup.fence);
  const { dataDir } = deps.config;
  const folder = checkFolder(dataDir, backup);
  await removeEarlier(store, service.id, backup.id, object);
  const sourceBytes = source.bytes;
  // Room is needed for the archive, which is at most as large as the data, and for an unpacked copy.
  const copies = (store.id === 's3' ? 0 : 1) + (source.unpacks ? 1 : 0);
  const room = await assertRoom(dataDir, sourceBytes * copies, 'the backup and its check');
  const maxBytes = Math.min(source.maxBytes, room / copies);

  const key = newArchiveKey();
  const sealedKey = sealIn(deps.keyring, SEALED.backupKey, backup.id, key.toString('base64'));
  if (!(await recordArchive(deps.db, backup, { store: store.id, object, sealedKey })))
    throw new Interrupted('superseded');
  try {
    const began = Date.now();
    const ms = timeFor(COPY_MS, sourceBytes);
    const tooLate = new BackupError(`its copy was not made within ${Math.ceil(ms / MINUTE)} minutes; try again later`);
    const input = { key, sealedKey, backup, source, folder, maxBytes };
    const { sizeBytes, remarks } = await withinTime({ ms, tooLate, signal }, (either) =>
      copy(store, object, input, either),
    );
    const copied = Date.now();
    const spec = await loadReleaseSpec(deps.db, deps.keyring, service.live_deployment_id ?? '');
    const found = await checkArchive(deps, {
      backup: { ...backup, store: store.id, object, sealed_key: sealedKey },
      spec,
      folder,
      id: `backup-check-${backup.id}-${backup.fence}`,
      durable: false,
      maxBytes,
      signal,
    });
    signal.throwIfAborted();
    await store.publish(object);
    const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
    const rate = megabytes(sourceBytes / Math.max((copied - began) / 1000, 0.001));
    const sentence =
      `${megabytes(sourceBytes)} were copied in ${seconds(copied - began)} (${rate}/s) and take ${megabytes(sizeBytes)}; ` +
      `checked in ${seconds(Date.now() - copied)}: ${found}${remarks === '' ? '' : `; ${remarks}`}`;
    return { sizeBytes, dataBytes: sourceBytes, sentence };
  } catch (error) {
    await store.remove(object).catch((fault: unknown) => {
      deps.log.warn(
        { backupId: backup.id },
        `an archive could not be removed, a sweep tries again: ${errorMessage(fault)}`,
      );
    });
    throw error;
  } finally {
    await discardTree({ dataDir, log: deps.log }, folder);
  }
}

interface CopyInput {
  key: Buffer;
  sealedKey: Buffer;
  backup: BackupRow;
  source: BackupSource;
  folder: string;
  maxBytes: number;
}

async function copy(
  store: BackupStore,
  object: string,
  { key, sealedKey, backup, source, folder, maxBytes }: CopyInput,
  signal: AbortSignal,
): Promise<{ sizeBytes: number; remarks: string }> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const archive = new ArchiveWriter(maxBytes);
  const fill = async () => {
    const label = `${backup.id}_${backup.fence}`;
    const { facts, remarks } = await source.copy({ archive, label, folder, pause: backup.pause, signal: either });
    const { kind, version } = source;
    const createdAt = new Date().toISOString();
    const about = { kind, version, serviceId: backup.service_id, backupId: backup.id, createdAt };
    await archive.finish({ ...about, facts });
    return remarks;
  };
  let cause: unknown = null;
  const endBoth = (error: unknown): never => {
    cause ??= error;
    archive.fail(error);
    failed.abort(error);
    throw error;
  };
  const [filled, written] = await Promise.allSettled([
    fill().catch(endBoth),
    store.write(object, archive.stream(key, sealedKey), either).catch(endBoth),
  ]);
  if (filled.status === 'rejected' || written.status === 'rejected') throw cause;
  return { sizeBytes: written.value, remarks: filled.value };
}

async function removeEarlier(store: BackupStore, serviceId: string, backupId: string, own: string): Promise<void> {
  for (const { name } of await store.list(`${serviceId}/${backupId}-`)) {
    if (name !== own) await store.remove(name);
  }
}

function leave(backup: BackupRow): Outcome {
  if (Date.now() - backup.created_at.getTime() > MAX_WAIT_MS) {
    throw new BackupError('the host that has the volume is away');
  }
  return { laterInMs: ELSEWHERE_MS, says: 'left to the host that has the volume' };
}
