import { isDataKind, listensOnPort } from '../../../shared/services/model.js';
import { freePort } from '../../core/free-port.js';
import type { DataServices } from '../../data/data-services.js';
import type { TakenPorts } from '../../data/server-ports.js';
import { ReleaseError } from '../../failures/explained.js';
import { restingPorts } from '../../replicas/port-store.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { claimReplica } from '../../replicas/start-store.js';
import { replicasOfHost } from '../../replicas/store.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import type { Firewall } from './firewall.js';
import type { ProcessRuntimeDeps } from './replica-sandbox.js';

const PORT_TRIES = 20;

export type PortDeps = Pick<ProcessRuntimeDeps, 'db' | 'config' | 'hostId' | 'sandbox' | 'data' | 'checks'> & {
  firewall: Pick<Firewall, 'apply'>;
};

/**
 * Claims a replica for this host together with its port, which is null if it listens on none. Resolves to `lost` if the replica
 * is not to be started any more. Throws `ReleaseError` if there is no port for it.
 */
export async function claimWithPort(
  deps: PortDeps,
  row: ReplicaRow,
  spec: ReleaseSpec,
): Promise<number | null | 'lost'> {
  const { db, config, sandbox } = deps;
  if (isDataKind(spec.kind)) return claimServerPort(deps, row, spec);
  const listens = listensOnPort(spec.kind) && row.run_id === null;
  if (sandbox.network) {
    // The port is recorded with the address, which the sandbox gets when it is made.
    if ((await claimReplica(db, row, null)) === 'lost') return 'lost';
    return listens ? spec.configuration.port : null;
  }
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = listens ? await freePort(config.runtimePorts, await takenPorts(deps)) : null;
    const claim = await claimReplica(db, row, port);
    if (claim === 'claimed') {
      if (port !== null) await deps.firewall.apply();
      return port;
    }
    if (claim === 'lost') return 'lost';
  }
  throw new ReleaseError('every port that was tried went to another replica');
}

/** The server of a data service has the port that applications know. */
async function claimServerPort(deps: PortDeps, row: ReplicaRow, spec: ReleaseSpec): Promise<number | 'lost'> {
  const { db, sandbox } = deps;
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = await dataServicesOf(deps).claimPort(spec, await usedPorts(deps));
    const claim = await claimReplica(db, row, sandbox.network ? null : port);
    if (claim === 'lost') return 'lost';
    if (claim === 'taken') continue;
    if (!sandbox.network) await deps.firewall.apply();
    return port;
  }
  throw new ReleaseError('every port that was tried went to another replica');
}

/** What prepares the servers of data services. Throws `ReleaseError` if this worker runs none. */
export function dataServicesOf({ data }: Pick<ProcessRuntimeDeps, 'data'>): DataServices {
  if (!data) throw new ReleaseError('this worker runs no databases');
  return data;
}

async function usedPorts({ db, hostId }: PortDeps): Promise<TakenPorts> {
  const [rows, resting] = await Promise.all([replicasOfHost(db, hostId), restingPorts(db, hostId)]);
  return { inUse: rows.flatMap((other) => other.port ?? []), resting };
}

/** Databases keep their ports while they are stopped. */
async function takenPorts(deps: PortDeps): Promise<Set<number>> {
  const { inUse, resting } = await usedPorts(deps);
  return new Set([...inUse, ...resting, ...((await deps.data?.reservedPorts()) ?? [])]);
}
