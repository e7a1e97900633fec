import type { CreateServiceOptions, Service } from 'dockerode';
import type { DataHost } from '../../data/data-host.js';
import { type Engine, engineMessage, isConflict, unlessGone } from '../../docker/docker-engine.js';
import type { Registry } from '../../docker/registry-accounts.js';
import type { ReplicaRuntimeDeps } from '../replica-runtime-deps.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { ensureNetwork } from './release-network.js';
import type { SwarmContext } from './service-spec.js';
import { freedPlacement } from './task-placement.js';

export interface SwarmServers extends DataHost {
  /** Prepares the volume and describes the server's service. Throws `ReleaseError` if the server must not start. */
  serverOf(release: ReleaseSpec, replicaId: string): Promise<(context: SwarmContext) => CreateServiceOptions>;
}

export interface SwarmRuntimeDeps extends ReplicaRuntimeDeps {
  data: SwarmServers;
  engine: Engine;
  registry: Registry | null;
  /** The value of `LABELS.installation`: other installations may use the swarm too. */
  installation: string;
}

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'registry' | 'installation' | 'config'>;

const TRIES = 5;

/** Creates a Swarm service in the release's network. Does nothing if a service with its name exists. */
export async function createService(
  deps: Deps,
  spec: ReleaseSpec,
  describe: (context: SwarmContext) => CreateServiceOptions,
): Promise<void> {
  const { engine, registry, installation, config } = deps;
  const context = { installation, network: await ensureNetwork(deps, spec), stopGraceSeconds: config.stopGraceSeconds };
  const description = describe(context);
  try {
    if (registry?.auth) await engine.calls.createService(registry.auth, description);
    else await engine.calls.createService(description);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}

/** Stops all tasks of a service. The service itself stays. */
export function scaleToZero(deps: Pick<Deps, 'engine'>, id: string): Promise<void> {
  return updateService(deps, id, () => ({ Mode: { Replicated: { Replicas: 0 } } }));
}

/** Allows Swarm to place a service's next tasks on any node of its region. */
export function freePlacement(deps: Pick<Deps, 'engine'>, id: string): Promise<void> {
  return updateService(deps, id, (service) => {
    const placement = freedPlacement(service);
    return placement && { TaskTemplate: { ...service.Spec?.TaskTemplate, Placement: placement } };
  });
}

/** Does nothing if the service does not exist or `change` returns null. */
async function updateService(
  { engine }: Pick<Deps, 'engine'>,
  id: string,
  change: (service: Service) => object | null,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const service: Service | undefined = await unlessGone(engine.calls.getService(id).inspect());
    const changed = service && change(service);
    if (!changed) return;
    try {
      await engine.calls.getService(id).update({ ...service.Spec, version: service.Version?.Index, ...changed });
      return;
    } catch (error) {
      // Swarm refuses an update that is based on an outdated version of the service.
      if (tries >= TRIES || !engineMessage(error).includes('out of sequence')) throw error;
    }
  }
}

/** Removes a service and its tasks. Returns false if there was none. */
export async function removeService({ engine }: Pick<Deps, 'engine'>, id: string): Promise<boolean> {
  const removed = engine.calls.getService(id).remove();
  return (await unlessGone(removed.then(() => true))) ?? false;
}
