import { openPasswords } from '../../shared/data/commands.js';
import { type StorageState, storageBytes, storageState } from '../../shared/data/model.js';
import { type DataServerRow, dataServersOfHost, recordUsage } from '../../shared/data/store.js';
import { getDeployment } from '../../shared/deployments/store.js';
import { getService } from '../../shared/services/store.js';
import { sweepEach } from '../core/sweep-each.js';
import { replicasOf } from '../replicas/store.js';
import type { JobDeps } from '../worker-deps.js';
import { type AdminAddress, endSessions, settlePostgres, wantedTenant } from './settle-postgres.js';

/** How many servers are measured at the same time. A server that hardly responds must not delay all others. */
const AT_ONCE = 4;

/** Measures this host's database servers and enforces their storage limits. Returns a line for each change. */
export async function watchStorage(deps: JobDeps): Promise<string[]> {
  const servers = await dataServersOfHost(deps.db, deps.data.hostId);
  const failure = 'the storage of a database was not checked';
  const facts = ({ id }: DataServerRow) => ({ serviceId: id });
  return sweepEach(servers, { ...deps, atOnce: AT_ONCE, failure, facts }, (row) => watchServer(deps, row));
}

async function watchServer(deps: JobDeps, row: DataServerRow): Promise<string[]> {
  if (row.initialized_at === null) return [];
  const service = await getService(deps.db, row.id);
  const live = service?.live_deployment_id && (await getDeployment(deps.db, service.live_deployment_id));
  if (!live) return [];
  const admin = await adminOf(deps, row, live.id);
  const used = await deps.data.measure(row, admin).catch(() => null);
  if (used === null) return [];
  const planId = live.configuration.plan;
  const state = storageState(used, storageBytes(planId), row.storage_state);
  if (state !== row.storage_state && row.kind === 'postgres' && admin !== null) {
    await settlePostgres(admin, wantedTenant(deps.keyring, row, planId, state));
    await endSessions(admin, row.user_name);
  }
  // The new state is recorded last: if setting the limit in PostgreSQL fails, the next measurement sees the old state
  // and tries again.
  if (!(await recordUsage(deps.db, row.id, used, state))) return [];
  const level = state === 'open' ? 'info' : 'error';
  await deps.logs.say({ serviceId: row.id, deploymentId: live.id }, MESSAGES[state], level);
  return [`the storage of database ${row.id} is ${state} now (${used} bytes)`];
}

async function adminOf(
  { db, keyring }: JobDeps,
  row: DataServerRow,
  deploymentId: string,
): Promise<AdminAddress | null> {
  const replica = (await replicasOf(db, deploymentId)).find(({ state }) => state === 'ready' || state === 'unhealthy');
  if (replica?.port == null) return null;
  return { host: replica.address, port: replica.port, password: openPasswords(keyring, row).admin };
}

const MESSAGES: Record<StorageState, string> = {
  open: 'The data takes less than 90 % of the storage of the plan again: everything is allowed',
  read_only:
    'The data takes 90 % of the storage of the plan: new transactions are read-only unless they say "read write". Delete data, or choose a larger plan',
  closed: 'The storage of the plan is full: nobody can connect. Choose a larger plan and deploy it',
};
