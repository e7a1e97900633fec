import { type Engine, engineStatus, isConflict, unlessGone } from '../../docker/docker-engine.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { LABELS } from './service-spec.js';

interface Deps {
  engine: Engine;
  installation: string;
}

/** A younger network is kept even if it is unused. Services that will join it may not exist yet. */
const YOUNG_MS = 10 * 60_000;

/** Returns the scope of a release's network: its environment, or else its service. */
export function networkScope({ serviceId, environmentId, configuration }: ReleaseSpec): string {
  return environmentId !== null && configuration.privateNetworking ? environmentId : serviceId;
}

/** Creates a release's overlay network if it does not exist, and returns its name. */
export async function ensureNetwork({ engine, installation }: Deps, spec: ReleaseSpec): Promise<string> {
  const scope = networkScope(spec);
  const name = `ranvier-${scope}`;
  if (await unlessGone(engine.calls.getNetwork(name).inspect())) return name;
  try {
    await engine.calls.createNetwork({
      Name: name,
      Driver: 'overlay',
      CheckDuplicate: true,
      Labels: { [LABELS.installation]: installation, [LABELS.network]: scope },
    });
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  return name;
}

/** Removes this installation's unused networks. */
export async function sweepNetworks({ engine, installation }: Deps): Promise<void> {
  const networks = await engine.calls.listNetworks({ filters: { label: [`${LABELS.installation}=${installation}`] } });
  for (const { Id, Created } of networks) {
    if (Date.now() - Date.parse(Created) < YOUNG_MS) continue;
    try {
      await engine.calls.getNetwork(Id).remove();
    } catch (error) {
      // Any status code means that the network is in use, because engines refuse the removal with different codes.
      if (engineStatus(error) === undefined) throw error;
    }
  }
}
