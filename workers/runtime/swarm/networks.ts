import { engineStatus, isConflict } from '../../docker/engine.js';
import type { ReleaseSpec } from '../driver.js';
import type { SwarmRuntimeDeps } from './deps.js';
import { LABELS } from './spec.js';

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'installation'>;

/** Until the services that are about to join it can be seen, a network looks as if nobody needed it. */
const YOUNG_MS = 10 * 60_000;

/**
 * Which network a release is in: its environment's, where the services of the environment reach each other by their
 * names; where it is in none, or wants no part in it, one of its own.
 */
export function networkScope({ serviceId, environmentId, configuration }: ReleaseSpec): string {
  return environmentId !== null && configuration.privateNetworking ? environmentId : serviceId;
}

/** The name of a release's overlay network, which is made where it is not there. */
export async function ensureNetwork({ engine, installation }: Deps, spec: ReleaseSpec): Promise<string> {
  const scope = networkScope(spec);
  const name = `ranvier-${scope}`;
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

/** Removes our networks that no service is in any more. */
export async function sweepNetworks({ engine, installation }: Deps): Promise<void> {
  const networks = await engine.calls.listNetworks({ filters: { label: [`${LABELS.installation}=${installation}`] } });
  for (const { Id, Created } of networks) {
    if (Date.now() - Date.parse(Created) < YOUNG_MS) continue;
    try {
      await engine.calls.getNetwork(Id).remove();
    } catch (error) {
      // Somebody is in it; engines say that in several ways.
      if (engineStatus(error) === undefined) throw error;
    }
  }
}
