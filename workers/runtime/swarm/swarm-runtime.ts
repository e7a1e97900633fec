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

/** The dependencies that a worker passes to every runtime. */
export type SharedDeps = Omit<ReplicaRuntimeDeps, 'hostId'> & Pick<SwarmDataDeps, 'keyring' | 'toolchains' | 'servers'>;

/** UUID namespace of the host id, which all workers of a swarm derive from the swarm's id. */
const SWARM_NAMESPACE = 'a1f4c6de-7f0c-4a3e-9f63-53a3a3a0d7c9';

/** Timeout of an engine call, in milliseconds. While a call hangs, changes of all replicas are delayed. */
const CALL_MS = 10_000;

/** Runs releases as services of the Docker Swarm that `DOCKER_HOST` manages. Throws `EngineError` if there is none. */
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
