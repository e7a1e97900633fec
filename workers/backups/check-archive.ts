import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { BackupRow } from '../../shared/backups/model.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { isDataKind } from '../../shared/services/model.js';
import { limitsOf } from '../../shared/services/plan-catalog.js';
import { DATA } from '../data/data-host.js';
import { BackupError } from '../failures/explained-errors.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import { verifyTar } from '../volumes/volume-tar.js';
import type { JobDeps } from '../worker-deps.js';
import type { Adoption } from './adopt-postgres.js';
import type { Manifest } from './backup-archive.js';
import { checkPostgres } from './postgres-check.js';
import { unpackArchive } from './read-archive.js';
import { readVolumes } from './read-volumes.js';
import { checkRedis } from './redis-check.js';
import type { VolumeFacts } from './volumes-source.js';
import { MINUTE, timeFor } from './work-folders.js';

/** Minimum memory of a check, in MB: verifying an index needs this much, however small the plan is. */
const MIN_MEMORY_MB = 512;
/** Timeout for checking a backup with a fresh server, in milliseconds: a fixed part, and a part for each gibibyte. */
const CHECK_MS = { always: 5 * MINUTE, perGigabyte: MINUTE };

export interface CheckInput {
  backup: Pick<BackupRow, 'id' | 'service_id' | 'store' | 'object' | 'sealed_key'>;
  spec: ReleaseSpec;
  /** Must not exist yet. The archive is unpacked into its subfolder `data`. */
  folder: string;
  /** Id of the sandbox in which a fresh server opens the unpacked database. */
  id: string;
  /** True if a database server will use this folder as its data, so that everything must be flushed to the disk. */
  durable: boolean;
  /** The database name, user name and password that replace those of another service's backup; null to keep them. */
  adopt?: Adoption | null;
  /** Maximum size of the unpacked data, in bytes. A full disk would stop every service on this host. */
  maxBytes: number;
  signal: AbortSignal;
}

/** Proves that an archive can be restored, and returns a summary for the log. Throws a `BackupError`. */
export async function checkArchive(deps: JobDeps, input: CheckInput): Promise<string> {
  const { backup, spec, folder, signal, maxBytes } = input;
  const { data, backups } = deps;
  const { content, key } = await openArchive(deps, backup, signal);
  if (!isDataKind(spec.kind)) {
    const manifest = await readVolumes(content, { key, signal, maxBytes }, () => verifyTar(signal));
    assertBelongs(manifest, backup);
    const { volumes } = manifest.facts as VolumeFacts;
    return `every byte of ${volumes.length === 1 ? 'its volume' : `its ${volumes.length} volumes`} was read back`;
  }
  await mkdir(join(folder, DATA), { recursive: true, mode: 0o700 });
  const manifest = await unpackArchive(content, key, join(folder, DATA), signal, maxBytes);
  assertBelongs(manifest, backup);
  if (manifest.kind !== spec.kind) throw new BackupError('the archive belongs to another backup');
  const program = await data.programOf(spec);
  const { memoryMb, pids } = limitsOf(spec.kind, spec.configuration.plan);
  const server = {
    id: input.id,
    sandbox: backups.sandbox,
    folder,
    userNumber: spec.userNumber,
    limits: { memoryMb: Math.max(memoryMb, MIN_MEMORY_MB), cpu: 2, pids },
    limitMs: timeFor(
      CHECK_MS,
      manifest.files.reduce((sum, { size }) => sum + size, 0),
    ),
    signal,
  };
  if (manifest.kind === 'redis') {
    const { keys, expired } = await checkRedis({ ...server, tools: [], binary: program }, manifest);
    return `${keys} keys${expired > 0 ? `, and ${expired} that have expired` : ''}`;
  }
  const tools = [dirname(dirname(program))];
  const { databases, tables, rows, indexes } = await checkPostgres({ ...server, tools }, manifest, input);
  return `${databases} databases, ${tables} tables, ${rows} rows, ${indexes} B-trees verified`;
}

/** Opens the archive of a backup for reading. Throws a `BackupError` if this host cannot reach its store. */
export async function openArchive(
  { backups, keyring }: Pick<JobDeps, 'backups' | 'keyring'>,
  { id, store: storeId, object, sealed_key }: CheckInput['backup'],
  signal: AbortSignal,
): Promise<{ content: Readable; key: Buffer }> {
  const store = backups.stores.all.find((one) => one.id === storeId);
  if (store === undefined || object === null || sealed_key === null) {
    throw new BackupError(`the archive is in a store that this host does not reach (${storeId ?? 'none'})`);
  }
  const key = Buffer.from(openFrom(keyring, SEALED.backupKey, id, sealed_key), 'base64');
  return { content: await store.read(object, signal), key };
}

/** Throws a `BackupError` if an archive belongs to another backup. */
export function assertBelongs({ serviceId, backupId }: Manifest, backup: CheckInput['backup']): void {
  if (serviceId === backup.service_id && backupId === backup.id) return;
  throw new BackupError('the archive belongs to another backup');
}
