import { errorMessage } from '../../shared/core/error-registry.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { postgresBytes, redisBytes, walBytes } from '../data/measure-server.js';
import { type DataAccessDeps, type DataServer, openDataServer } from '../data/server-access.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { folderBytes } from '../volumes/folder-bytes.js';
import type { BackupSource } from './backup-source.js';
import { copyPostgres } from './postgres-source.js';
import { copyRedis } from './redis-source.js';

/** The copied files may have twice the size of the database plus this many bytes, because it can grow meanwhile. */
const GROWTH_BYTES = 1024 ** 3;

/** Opens a running database for its backup. */
export async function openDatabase(
  deps: DataAccessDeps,
  { id }: Pick<ServiceRow, 'id'>,
  helpers: JobHelpers,
): Promise<BackupSource> {
  const server = await openRunning(deps, id, helpers);
  const bytes = await bytesOf(server);
  return {
    kind: server.kind,
    version: server.version,
    bytes,
    maxBytes: 2 * bytes + GROWTH_BYTES,
    unpacks: true,
    async copy({ archive, label, signal }) {
      const facts =
        server.kind === 'postgres'
          ? await copyPostgres(server, archive, label, signal)
          : await copyRedis(server, archive, signal);
      return { facts, remarks: '' };
    },
  };
}

/** Opens the server. If it is not running, it may be restarting, so only the job's last attempt fails the backup. */
async function openRunning(deps: DataAccessDeps, serviceId: string, helpers: JobHelpers): Promise<DataServer> {
  try {
    return await openDataServer(deps, serviceId);
  } catch (error) {
    if (!(error instanceof ReleaseError) || helpers.lastAttempt) throw error;
    throw new Error(errorMessage(error));
  }
}

async function bytesOf({ kind, dataFolder, admin }: DataServer): Promise<number> {
  if (dataFolder !== null) return folderBytes(dataFolder);
  return kind === 'postgres' ? (await postgresBytes(admin)) + (await walBytes(admin)) : redisBytes(admin);
}
