import type { Config } from '../../shared/core/config.js';
import { openPasswords } from '../../shared/data/commands.js';
import { ADMIN_USER } from '../../shared/data/model.js';
import { type DataServerRow, findDataServer } from '../../shared/data/store.js';
import { getService } from '../../shared/services/store.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { replicasOf } from '../replicas/store.js';
import { type HoldDeps, whileStopped } from '../volumes/hold-service.js';
import type { JobDeps } from '../worker-deps.js';

export interface DataServer {
  kind: 'postgres' | 'redis';
  /** PostgreSQL's major version; '' for redis. */
  version: string;
  serviceId: string;
  dataFolder: string | null;
  admin: { host: string; port: number; user: string; password: string; database: string };
}

export type DataAccessDeps = HoldDeps & Pick<JobDeps, 'log' | 'data'> & { config: Pick<Config, 'dataDir'> };

/**
 * Returns a service's running database server. Throws `ReleaseError` if the server does not run on this host, and
 * `SealError` if its password cannot be decrypted.
 */
export async function openDataServer(deps: DataAccessDeps, serviceId: string): Promise<DataServer> {
  const row = await ownServer(deps, serviceId);
  const service = await getService(deps.db, serviceId);
  const live = service?.live_deployment_id ?? null;
  const replicas = live === null ? [] : await replicasOf(deps.db, live);
  const replica = replicas.find(({ state, desired }) => state === 'ready' && desired === 'running');
  if (live === null || replica?.port == null) throw new ReleaseError('its server does not run');
  const { admin } = openPasswords(deps.keyring, row);
  return {
    kind: row.kind,
    version: row.version,
    serviceId,
    dataFolder: deps.data.dataFolderOf(serviceId),
    admin: {
      host: replica.address,
      port: replica.port,
      user: ADMIN_USER,
      password: admin,
      database: row.kind === 'postgres' ? row.database_name : '',
    },
  };
}

/** Stops a server, runs `work` on its volume, and starts the server again, even if `work` fails. */
export async function holdServer(
  deps: DataAccessDeps,
  serviceId: string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  await ownServer(deps, serviceId);
  await whileStopped(deps, serviceId, work);
}

async function ownServer({ db, data }: DataAccessDeps, serviceId: string): Promise<DataServerRow> {
  const row = await findDataServer(db, serviceId);
  if (!row?.initialized_at) throw new ReleaseError('the service has no data yet; deploy it first');
  if (row.host_id !== data.hostId) throw new ReleaseError(`its volume is on another host (${row.host_id})`);
  return row;
}
