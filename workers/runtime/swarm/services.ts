import type { CreateServiceOptions, Service } from 'dockerode';
import { engineMessage, isConflict, unlessGone } from '../../docker/engine.js';
import type { ReleaseSpec } from '../driver.js';
import type { SwarmRuntimeDeps } from './deps.js';
import { ensureNetwork } from './networks.js';
import { freedPlacement } from './placement.js';
import type { SwarmContext } from './spec.js';

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'registry' | 'installation' | 'config'>;

const TRIES = 5;

/** Makes a service in the release's network, unless one of its name is there already. */
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

/** Ends all tasks of a service, which stays until they are over. */
export function scaleToNothing(deps: Pick<Deps, 'engine'>, id: string): Promise<void> {
  return updateService(deps, id, () => ({ Mode: { Replicated: { Replicas: 0 } } }));
}

/** Lets a service's task go to any node of its region, from now on. A task that runs is not touched. */
export function freeToGo(deps: Pick<Deps, 'engine'>, id: string): Promise<void> {
  return updateService(deps, id, (service) => {
    const placement = freedPlacement(service);
    return placement && { TaskTemplate: { ...service.Spec?.TaskTemplate, Placement: placement } };
  });
}

/** Changes a service that is there; null: it is as it should be. */
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
      // Swarm counts every change; another one came between the look and ours.
      if (tries >= TRIES || !engineMessage(error).includes('out of sequence')) throw error;
    }
  }
}

/** False where there was none any more. */
export async function removeService({ engine }: Pick<Deps, 'engine'>, id: string): Promise<boolean> {
  return (
    (await unlessGone(
      engine.calls
        .getService(id)
        .remove()
        .then(() => true),
    )) ?? false
  );
}
