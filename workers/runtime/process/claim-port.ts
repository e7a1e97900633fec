import { isDataKind, listensOnPort } from '../../../shared/services/model.js';
import { freePort } from '../../core/free-port.js';
import type { DataServices } from '../../data/data-services.js';
import type { TakenPorts } from '../../data/server-ports.js';
import { ReleaseError } from '../../failures/explained-errors.js';
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
 * Claims a replica. Returns its port, null if it listens on no port, or `lost` if it must not be started any more.
 * Throws `ReleaseError` if no port is free.
 */
export async function claimWithPort(
  deps: PortDeps,
  row: ReplicaRow,
  spec: ReleaseSpec,
): Promise<number | null | 'lost'> {
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = await portFor(deps, row, spec);
    // The port of a replica with its own network is recorded later, together with the replica's address.
    const hostPort = deps.sandbox.network ? null : port;
    const claim = await claimReplica(deps.db, row, hostPort);
    if (claim === 'lost') return 'lost';
    if (claim === 'taken') continue;
    if (hostPort !== null) await deps.firewall.apply();
    return port;
  }
  throw new ReleaseError('every port that was tried went to another replica');
}

/** A database server keeps its port, because applications have the port in their variables. */
async function portFor(deps: PortDeps, row: ReplicaRow, spec: ReleaseSpec): Promise<number | null> {
  const { sandbox, data, config } = deps;
  if (isDataKind(spec.kind)) return dataServicesOf(deps).claimPort(spec, await usedPorts(deps));
  if (!listensOnPort(spec.kind) || row.run_id !== null) return null;
  if (sandbox.network) return spec.configuration.port;
  const { inUse, resting } = await usedPorts(deps);
  // Databases keep their ports while they are stopped.
  return freePort(config.runtimePorts, new Set([...inUse, ...resting, ...((await data?.reservedPorts()) ?? [])]));
}

/** Returns this worker's `DataServices`. Throws `ReleaseError` if there is none. */
export function dataServicesOf({ data }: Pick<ProcessRuntimeDeps, 'data'>): DataServices {
  if (!data) throw new ReleaseError('this worker runs no databases');
  return data;
}

async function usedPorts({ db, hostId }: PortDeps): Promise<TakenPorts> {
  const [rows, resting] = await Promise.all([replicasOfHost(db, hostId), restingPorts(db, hostId)]);
  return { inUse: rows.flatMap((other) => other.port ?? []), resting };
}
