import { v5 as uuidv5 } from 'uuid';
import { installationId } from '../../../shared/core/database/database-client.js';
import type { DataKind } from '../../../shared/services/model.js';
import { getService } from '../../../shared/services/store.js';
import { assertEngine, assertManager, connectEngine } from '../../docker/docker-engine.js';
import { registryOf } from '../../docker/registry-accounts.js';
import { ReplicaRuntime } from '../replica-runtime.js';
import type { ReplicaRuntimeDeps } from '../replica-runtime-deps.js';
import type { RuntimeDriver } from '../runtime-driver.js';
import { findSwarmKinds } from './server-images.js';
import { SwarmData, type SwarmDataDeps } from './swarm-data.js';
import { SwarmHost } from './swarm-host.js';

export type SharedDeps = Omit<ReplicaRuntimeDeps, 'hostId'> & Pick<SwarmDataDeps, 'keyring' | 'toolchains' | 'servers'>;

/** All workers of a swarm derive the host id from the swarm's id, in this UUID namespace. */
const SWARM_NAMESPACE = 'a1f4c6de-7f0c-4a3e-9f63-53a3a3a0d7c9';

/** Timeout of calls to the engine. It is short, because a call that hangs delays the changes of all replicas. */
const CALL_MS = 10_000;

/** Runs releases as services of a Docker Swarm. Throws `EngineError` if DOCKER_HOST leads to no swarm manager. */
export async function createSwarmRuntime(
  shared: SharedDeps,
): Promise<{ runtime: RuntimeDriver; data: SwarmData; dataKinds: DataKind[] }> {
  const engine = connectEngine(shared.config, CALL_MS);
  await assertEngine(engine);
  const swarm = {
    ...shared,
    hostId: uuidv5(await assertManager(engine), SWARM_NAMESPACE),
    engine,
    registry: registryOf(shared.config),
    installation: await installationId(shared.db),
  };
  const data = new SwarmData({
    ...swarm,
    ownNode: (await engine.calls.info()).Swarm?.NodeID ?? '',
    liveRelease: async (serviceId) => (await getService(shared.db, serviceId))?.live_deployment_id ?? null,
  });
  const runtime = new ReplicaRuntime(swarm, new SwarmHost({ ...swarm, data }));
  return { runtime, data, dataKinds: await findSwarmKinds(swarm) };
}
