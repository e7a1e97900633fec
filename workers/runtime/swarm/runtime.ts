import { v5 as uuidv5 } from 'uuid';
import { installationId } from '../../../shared/db/installation.js';
import { assertEngine, assertManager, connectEngine } from '../../docker/engine.js';
import { registryOf } from '../../docker/registry.js';
import type { ReplicaRuntimeDeps } from '../deps.js';
import type { RuntimeDriver } from '../driver.js';
import { ReplicaRuntime } from '../replica-runtime.js';
import { Supervisor } from '../supervisor.js';
import { runSwarmCommand } from './command.js';
import { explainExit, explainSilence } from './explain.js';
import { SwarmHousehold } from './household.js';

/** Makes a swarm's id the id of a host: all workers that use a swarm agree on it. */
const SWARM_NAMESPACE = 'a1f4c6de-7f0c-4a3e-9f63-53a3a3a0d7c9';

/** Runs releases as services of the Docker Swarm that `DOCKER_HOST` manages. Throws `EngineError` where it cannot. */
export async function createSwarmRuntime(shared: Omit<ReplicaRuntimeDeps, 'hostId'>): Promise<RuntimeDriver> {
  const engine = connectEngine(shared.config);
  await assertEngine(engine);
  const hostId = uuidv5(await assertManager(engine), SWARM_NAMESPACE);
  const deps = {
    ...shared,
    hostId,
    engine,
    registry: registryOf(shared.config),
    installation: await installationId(shared.db),
  };
  const supervisor = new Supervisor(deps, new SwarmHousehold(deps));
  return new ReplicaRuntime(deps, {
    name: 'swarm',
    start: () => supervisor.start(),
    // Swarm keeps releases running, with the platform or without.
    close: () => supervisor.close(false),
    explainExit: (spec, row) => explainExit(deps, spec, row),
    explainSilence: (spec, rows) => explainSilence(deps, spec, rows),
    runCommand: (spec, command, options) => runSwarmCommand(deps, spec, command, options),
  });
}
