import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { getService } from '../../shared/services/store.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import { runningReleases } from '../releases/release-store.js';
import type { JobDeps } from '../worker-deps.js';
import { whileHeld } from './holds.js';

export type HoldDeps = Pick<JobDeps, 'db' | 'keyring' | 'runtime'> & { config: Pick<Config, 'releaseTimeoutSeconds'> };

/**
 * Runs `work` while no new process can mount the service's volume. Throws `ReleaseError` if another operation works on
 * the volume, or if the service has no volume.
 */
export async function withHold<T>(db: Db, serviceId: string, work: (lost: AbortSignal) => Promise<T>): Promise<T> {
  const held = await whileHeld(db, serviceId, work);
  if (held === null) throw new ReleaseError('somebody else works on its volume, or it has none; try again later');
  return held.result;
}

/** Stops a service, runs `work` on its volume, and starts the service again, even if `work` fails. */
export async function whileStopped(
  deps: HoldDeps,
  serviceId: string,
  work: (lost: AbortSignal) => Promise<void>,
  ready: (lost: AbortSignal) => Promise<void> = async () => undefined,
): Promise<void> {
  let stopped = false;
  try {
    await withHold(deps.db, serviceId, async (lost) => {
      await ready(lost);
      stopped = true;
      for (const deploymentId of await runningReleases(deps.db, serviceId)) await deps.runtime.stop(deploymentId);
      await work(lost);
    });
  } finally {
    if (stopped) await startAgain(deps, serviceId);
  }
}

async function startAgain({ db, keyring, runtime, config }: HoldDeps, serviceId: string): Promise<void> {
  const service = await getService(db, serviceId);
  if (!service?.live_deployment_id || service.lifecycle_status !== 'active') return;
  const spec = await loadReleaseSpec(db, keyring, service.live_deployment_id);
  const signal = AbortSignal.timeout(config.releaseTimeoutSeconds * 1000);
  await runtime.release(spec, signal);
}
