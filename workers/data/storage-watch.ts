import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openPasswords } from '../../shared/data/commands.js';
import { type StorageState, storageBytes, storageState } from '../../shared/data/model.js';
import { type DataServerRow, dataServersOfHost, recordUsage } from '../../shared/data/store.js';
import { getDeployment } from '../../shared/deployments/store.js';
import { replicasOf } from '../../shared/replicas/store.js';
import { Masker } from '../../shared/secrets/mask.js';
import { getService } from '../../shared/services/store.js';
import { databasePlanOf } from '../../shared/workspaces/catalog.js';
import type { JobDeps } from '../worker-deps.js';
import { endSessions, settlePostgres } from './settle-postgres.js';

const BLOCK_BYTES = 512;
/** The write-ahead log has room of its own and bounds itself. */
const NOT_MEASURED = ['pg_wal'];

/**
 * Measures the data of this host's servers and enforces the storage bounds of their plans: from 90 per cent on new transactions
 * are read-only by default, at 100 per cent nobody connects. Returns a line for each bound that came or went.
 */
export async function watchStorage(deps: JobDeps): Promise<string[]> {
  const lines: string[] = [];
  const { data } = deps;
  if (data === null) return lines;
  for (const row of await dataServersOfHost(deps.db, data.hostId)) {
    if (row.initialized_at === null) continue;
    const service = await getService(deps.db, row.id);
    const live = service?.live_deployment_id && (await getDeployment(deps.db, service.live_deployment_id));
    if (!live) continue;
    const used = await folderBytes(data.volumeOf(row.id).data, NOT_MEASURED);
    const planId = live.configuration.plan;
    const state = storageState(used, storageBytes(planId), row.storage_state);
    if (state !== row.storage_state) await enforce(deps, row, live.id, planId, state);
    // Recorded last, so that a bound that could not be set is set by the next measurement. One worker of the host says it.
    if (!(await recordUsage(deps.db, row.id, used, state))) continue;
    await say(deps, row.id, live.id, state);
    lines.push(`the storage of database ${row.id} is ${state} now (${used} bytes)`);
  }
  return lines;
}

async function say({ logs }: JobDeps, serviceId: string, deploymentId: string, state: StorageState): Promise<void> {
  const channel = logs.open({ serviceId, deploymentId, masker: new Masker([]) });
  await channel.write('system', MESSAGES[state], state === 'open' ? 'info' : 'error');
  await channel.close();
}

async function enforce(
  deps: JobDeps,
  row: DataServerRow,
  deploymentId: string,
  planId: string,
  state: StorageState,
): Promise<void> {
  const [replica] = (await replicasOf(deps.db, deploymentId)).filter(
    ({ state }) => state === 'ready' || state === 'unhealthy',
  );
  if (row.kind !== 'postgres' || replica?.port == null) return;
  const { user, admin: password } = openPasswords(deps.keyring, row);
  const admin = { host: replica.address, port: replica.port, password };
  const { maxConnections } = databasePlanOf(planId);
  await settlePostgres(admin, {
    user: row.user_name,
    password: user,
    database: row.database_name,
    maxConnections,
    state,
  });
  await endSessions(admin, row.user_name);
}

const MESSAGES: Record<StorageState, string> = {
  open: 'The data takes less than 90 % of the storage of the plan again: everything is allowed',
  read_only:
    'The data takes 90 % of the storage of the plan: new transactions are read-only unless they say "read write". Delete data, or choose a larger plan',
  closed: 'The storage of the plan is full: nobody can connect. Choose a larger plan and deploy it',
};

/** The bytes that a folder takes on the disk, without the folders named in `except` at its top. */
export async function folderBytes(folder: string, except: readonly string[] = []): Promise<number> {
  let total = 0;
  const left = [folder];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    // Files come and go while the server runs.
    for (const entry of await readdir(path, { withFileTypes: true }).catch(() => [])) {
      if (path === folder && except.includes(entry.name)) continue;
      const inner = join(path, entry.name);
      if (entry.isDirectory()) left.push(inner);
      else total += ((await lstat(inner).catch(() => null))?.blocks ?? 0) * BLOCK_BYTES;
    }
  }
  return total;
}
