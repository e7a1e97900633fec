import { BACKUPS } from '../../shared/backups/kind.js';
import { type BackupRow, objectName } from '../../shared/backups/model.js';
import { recordArchive } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { findDataServer } from '../../shared/data/store.js';
import { SEALED, sealIn } from '../../shared/secrets/sealed-columns.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService } from '../../shared/services/store.js';
import { discardTree } from '../core/remove-folders.js';
import { withinTime } from '../core/within-time.js';
import { folderBytes } from '../data/folder-bytes.js';
import { postgresBytes, redisBytes, walBytes } from '../data/measure-server.js';
import { type DataAccessDeps, type DataServer, openDataServer } from '../data/server-access.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { Handler, Outcome, Work } from '../engine/perform-record.js';
import { BackupError, ReleaseError } from '../failures/explained-errors.js';
import { Interrupted } from '../failures/interruption-errors.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import type { JobDeps } from '../worker-deps.js';
import { newArchiveKey } from './archive-cipher.js';
import { ArchiveWriter, isDiskFull } from './backup-archive.js';
import type { BackupStore } from './backup-store.js';
import { checkArchive } from './check-archive.js';
import { mailFailedBackup } from './failure-mail.js';
import { copyPostgres } from './postgres-source.js';
import { copyRedis } from './redis-source.js';
import { assertRoom, checkFolder, MINUTE, megabytes, timeFor } from './work-folders.js';

/** After this time, in milliseconds, a worker without the volume hands the backup to another worker. */
const ELSEWHERE_MS = 1_000;
/** A backup fails if its host has been away for longer than this, in milliseconds. */
const MAX_WAIT_MS = 60 * 60_000;
/** Timeout for copying into the store, in milliseconds: a fixed part, and a part for each gibibyte. */
const COPY_MS = { always: 15 * MINUTE, perGigabyte: 5 * MINUTE };
/** How many bytes larger than the data a copy may become, because the data can grow meanwhile. */
const GROWTH_BYTES = 1024 ** 3;

/**
 * Makes a backup: copies the running server into an archive, checks that archive, and publishes it.
 * The check reads the archive back and opens it in a fresh server. If a worker loses its lease, the next claim or a
 * sweep removes its archive.
 */
export function backupHandler(deps: JobDeps): Handler<BackupRow> {
  return {
    kind: BACKUPS,
    onEnd: { sealed_key: null },
    run: (work) => makeBackup(deps, work),
    beforeEnd: ({ record }, { cause }) => say(deps, record, `Backup ${record.id} failed: ${cause}`, 'error'),
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
  const row = await findDataServer(deps.db, service.id);
  if (row?.host_id !== deps.data.hostId) return leave(backup);
  if (service.lifecycle_status !== 'active') throw new BackupError(`the service is ${service.lifecycle_status}`);
  const server = await openRunning(deps, service.id, helpers);
  try {
    const { sizeBytes, dataBytes, sentence } = await makeArchive(deps, backup, service, server, signal);
    // Flush first: the log must be complete when the backup shows as ended.
    await say(deps, backup, `Backup ${backup.id} succeeded: ${sentence}`);
    return { event: 'succeeded', set: { size_bytes: sizeBytes, data_bytes: dataBytes, error: '' } };
  } catch (error) {
    throw isDiskFull(error) ? new BackupError('the disk is full') : error;
  }
}

/** Waits for a restarting server: only the job's last attempt fails the backup because no server runs. */
async function openRunning(deps: DataAccessDeps, serviceId: string, helpers: JobHelpers): Promise<DataServer> {
  try {
    return await openDataServer(deps, serviceId);
  } catch (error) {
    if (!(error instanceof ReleaseError) || helpers.lastAttempt) throw error;
    throw new Error(errorMessage(error));
  }
}

/** Makes, checks and publishes the archive of this claim. Removes it if that fails. */
async function makeArchive(
  deps: JobDeps,
  backup: BackupRow,
  service: ServiceRow,
  server: DataServer,
  signal: AbortSignal,
): Promise<{ sizeBytes: number; dataBytes: number; sentence: string }> {
  const store = deps.backups.stores.current;
  const object = objectName(service.id, backup.id, backup.fence);
  const { dataDir } = deps.config;
  const folder = checkFolder(dataDir, backup);
  await removeEarlier(store, service.id, backup.id, object);
  const sourceBytes = await sourceBytesOf(server);
  // Room for the archive, which is at most as large as the data, and for the unpacked copy.
  const copies = store.id === 's3' ? 1 : 2;
  const room = await assertRoom(dataDir, sourceBytes * copies, 'the backup and its check');
  const maxBytes = Math.min(2 * sourceBytes + GROWTH_BYTES, room / copies);

  const key = newArchiveKey();
  const sealedKey = sealIn(deps.keyring, SEALED.backupKey, backup.id, key.toString('base64'));
  if (!(await recordArchive(deps.db, backup, { store: store.id, object, sealedKey })))
    throw new Interrupted('superseded');
  try {
    const began = Date.now();
    const ms = timeFor(COPY_MS, sourceBytes);
    const tooLate = new BackupError(`its copy was not made within ${Math.ceil(ms / MINUTE)} minutes; try again later`);
    const input = { key, sealedKey, backup, server, maxBytes };
    const sizeBytes = await withinTime({ ms, tooLate, signal }, (either) => copy(store, object, input, either));
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
      `a fresh server restored them in ${seconds(Date.now() - copied)}: ${found}`;
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

/** Returns the size of a server's files, in bytes. */
async function sourceBytesOf({ kind, dataFolder, admin }: DataServer): Promise<number> {
  if (dataFolder !== null) return folderBytes(dataFolder);
  return kind === 'postgres' ? (await postgresBytes(admin)) + (await walBytes(admin)) : redisBytes(admin);
}

interface CopyInput {
  key: Buffer;
  sealedKey: Buffer;
  backup: BackupRow;
  server: DataServer;
  maxBytes: number;
}

/** Copies the server into the store while the archive is written. If either side fails, ends the other one too. */
async function copy(
  store: BackupStore,
  object: string,
  { key, sealedKey, backup, server, maxBytes }: CopyInput,
  signal: AbortSignal,
): Promise<number> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const archive = new ArchiveWriter(maxBytes);
  const fill = async () => {
    const facts =
      server.kind === 'postgres'
        ? await copyPostgres(server, archive, `${backup.id}_${backup.fence}`, either)
        : await copyRedis(server, archive, either);
    const createdAt = new Date().toISOString();
    const about = {
      kind: server.kind,
      version: server.version,
      serviceId: server.serviceId,
      backupId: backup.id,
      createdAt,
    };
    await archive.finish({ ...about, facts });
  };
  let cause: unknown = null;
  const first = (error: unknown) => {
    cause ??= error;
    archive.fail(error);
    failed.abort(error);
  };
  const [filled, written] = await Promise.allSettled([
    fill().catch((error: unknown) => {
      first(error);
      throw error;
    }),
    store.write(object, archive.stream(key, sealedKey), either).catch((error: unknown) => {
      first(error);
      throw error;
    }),
  ]);
  if (filled.status === 'rejected' || written.status === 'rejected') throw cause;
  return written.value;
}

/** Removes what earlier claims of this backup left in the store. */
async function removeEarlier(store: BackupStore, serviceId: string, backupId: string, own: string): Promise<void> {
  for (const { name } of await store.list(`${serviceId}/${backupId}-`)) {
    if (name !== own) await store.remove(name);
  }
}

/** Leaves the backup to the host that has the volume. Throws if that host has been away for too long. */
function leave(backup: BackupRow): Outcome {
  if (Date.now() - backup.created_at.getTime() > MAX_WAIT_MS) {
    throw new BackupError('the host that has the volume is away');
  }
  return { laterInMs: ELSEWHERE_MS, says: 'left to the host that has the volume' };
}

async function say(
  deps: JobDeps,
  { service_id: serviceId }: BackupRow,
  message: string,
  level: 'info' | 'error' = 'info',
): Promise<void> {
  const deploymentId = (await getService(deps.db, serviceId))?.live_deployment_id ?? null;
  if (deploymentId !== null) await deps.logs.say({ serviceId, deploymentId }, message, level);
}
