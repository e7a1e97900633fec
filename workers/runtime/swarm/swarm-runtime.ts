import { v5 as uuidv5 } from 'uuid';
import { installationId } from '../../../shared/core/database/client.js';
import { settleHost } from '../../../shared/data/store.js';
import type { DataKind } from '../../../shared/services/model.js';
import { getService } from '../../../shared/services/store.js';
import { assertEngine, assertManager, connectEngine, type Engine } from '../../docker/engine.js';
import { registryOf } from '../../docker/registry.js';
import { ReleaseError } from '../../failures/explained.js';
import { ReplicaRuntime } from '../replica-runtime.js';
import type { ReplicaRuntimeDeps } from '../replica-runtime-deps.js';
import type { RuntimeDriver } from '../runtime-driver.js';
import { Supervisor } from '../supervisor.js';
import { UsageSampler } from '../usage-sampler.js';
import { findSwarmKinds } from './server-images.js';
import { SwarmData, type SwarmDataDeps } from './swarm-data.js';
import { explainSwarmExit, explainSwarmSilence } from './swarm-failures.js';
import { SwarmHost } from './swarm-host.js';
import type { SwarmRuntimeDeps } from './swarm-services.js';
import { SwarmUsage } from './swarm-usage.js';

/** What a worker has, whatever runtime it uses. */
export type SharedDeps = Omit<ReplicaRuntimeDeps, 'hostId'> & Pick<SwarmDataDeps, 'keyring' | 'toolchains' | 'servers'>;

/** Turns a swarm's id into the id of a host, which is then the same for all workers that use the swarm. */
const SWARM_NAMESPACE = 'a1f4c6de-7f0c-4a3e-9f63-53a3a3a0d7c9';

/** A call that hangs is given up after this time, in milliseconds, because all replicas wait for it. */
const CALL_MS = 10_000;

/** Runs releases as services of the Docker Swarm that `DOCKER_HOST` manages. Throws `EngineError` if it cannot. */
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
    ownNode: await ownNodeOf(engine),
    liveRelease: async (serviceId) => (await getService(shared.db, serviceId))?.live_deployment_id ?? null,
  });
  const runtime = runtimeOf({ ...swarm, data });
  return { runtime, data, dataKinds: await findSwarmKinds(swarm) };
}

async function ownNodeOf({ calls }: Engine): Promise<string> {
  return (await calls.info()).Swarm?.NodeID ?? '';
}

function runtimeOf(deps: SwarmRuntimeDeps): RuntimeDriver {
  const supervisor = new Supervisor(deps, new SwarmHost(deps));
  const usage = new SwarmUsage(deps.engine);
  const sampler = new UsageSampler({
    ...deps,
    everyMs: deps.config.metricsSeconds * 1000,
    prepare: () => usage.refresh(),
    usage: (replica) => usage.usageOf(replica),
    // Each worker measures what runs on its own engine.
    active: () => true,
  });
  return new ReplicaRuntime(deps, {
    name: 'swarm',
    start: async () => {
      await supervisor.start();
      sampler.start();
    },
    // Swarm keeps releases running while the platform is off.
    close: async () => {
      await sampler.close();
      await supervisor.close(false);
    },
    explainExit: (spec, row) => explainSwarmExit(deps, spec, row),
    explainSilence: (spec, rows) => explainSwarmSilence(deps, spec, rows),
    // The swarm is one host, and its manager finds the node of a volume.
    hostOfData: async ({ serviceId }) => {
      const settled = await settleHost(deps.db, serviceId, deps.hostId);
      if (settled === deps.hostId) return settled;
      throw new ReleaseError(`its volume is on the host ${settled}, which is none of this swarm`);
    },
  });
}
