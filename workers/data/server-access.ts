import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import type { Logger } from '../../shared/core/log.js';
import { openPasswords } from '../../shared/data/commands.js';
import { ADMIN_USER } from '../../shared/data/model.js';
import { type DataServerRow, findDataServer, holdDataServer, releaseHold, renewHold } from '../../shared/data/store.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { getService } from '../../shared/services/store.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import { runningReleases } from '../releases/release-store.js';
import { replicasOf } from '../replicas/store.js';
import type { RuntimeDriver } from '../runtime/runtime-driver.js';
import type { DataHost } from './data-host.js';

/** A running data server and how to reach it from this host. */
export interface DataServer {
  kind: 'postgres' | 'redis';
  /** The major version of PostgreSQL; '' for redis. */
  version: string;
  serviceId: string;
  /** The data folder; null if this host cannot read it. Then the server sends its files. */
  dataFolder: string | null;
  /** The platform's own user, which has all privileges. */
  admin: { host: string; port: number; user: string; password: string; database: string };
}

export interface DataAccessDeps {
  db: Db;
  config: Pick<Config, 'dataDir' | 'releaseTimeoutSeconds'>;
  log: Logger;
  keyring: Keyring;
  runtime: RuntimeDriver;
  data: DataHost;
}

/**
 * Returns a service's server. Throws `ReleaseError` if it accepts no connections or this worker does not reach its volume, and
 * `SealError` if its password cannot be opened.
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

/** Interval between renewals of a hold, in milliseconds. */
const HOLD_RENEW_MS = 15_000;

/**
 * Stops a service's server, runs `work` on its volume, and starts it again, even if `work` fails.
 * Nothing can start the server meanwhile: a deployment that tries fails. Resolves when the server accepts connections.
 * The signal of `work` aborts if the hold is lost. Throws `ReleaseError` if another operation holds the server, and
 * what `work` throws.
 */
export async function holdServer(
  deps: DataAccessDeps,
  serviceId: string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { db, runtime } = deps;
  await ownServer(deps, serviceId);
  const token = await holdDataServer(db, serviceId);
  if (token === null) throw new ReleaseError('somebody else works on its volume; try again later');
  const lost = new AbortController();
  const renewal = setInterval(() => {
    renewHold(db, serviceId, token).then(
      (held) => held || lost.abort(new ReleaseError('the hold of the server was lost')),
      () => undefined,
    );
  }, HOLD_RENEW_MS);
  try {
    for (const deploymentId of await runningReleases(db, serviceId)) await runtime.stop(deploymentId);
    await work(lost.signal);
  } finally {
    clearInterval(renewal);
    await releaseHold(db, serviceId, token);
    await startAgain(deps, serviceId);
  }
}

/** Starts the live release again, unless the service is suspended. */
async function startAgain({ db, keyring, runtime, config }: DataAccessDeps, serviceId: string): Promise<void> {
  const service = await getService(db, serviceId);
  if (!service?.live_deployment_id || service.lifecycle_status !== 'active') return;
  const spec = await loadReleaseSpec(db, keyring, service.live_deployment_id);
  const signal = AbortSignal.timeout(config.releaseTimeoutSeconds * 1000);
  await runtime.release(spec, signal);
}

/** Returns the row of a server whose volume is on this host. */
async function ownServer({ db, data }: DataAccessDeps, serviceId: string): Promise<DataServerRow> {
  const row = await findDataServer(db, serviceId);
  if (!row?.initialized_at) throw new ReleaseError('the service has no data yet; deploy it first');
  if (row.host_id !== data.hostId) throw new ReleaseError(`its volume is on another host (${row.host_id})`);
  return row;
}
