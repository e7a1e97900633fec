import { finishLive, switchRoute } from '../../../shared/db/deployments.js';
import { getService } from '../../../shared/db/service-lifecycle.js';
import { edgesApplied } from '../../edges-applied.js';
import { Interrupted } from '../../interrupted.js';
import { ReleaseError } from '../../runtime/driver.js';
import { loadReleaseSpec } from '../release-spec.js';
import type { DeploymentRun } from '../run.js';

const PRE_DEPLOY_MINUTES = 30;
/** An edge that drains slow requests of the old release serves the new one already. */
const EDGES_MS = 2000;

/**
 * Starts the new release beside the old one and, when it is healthy, moves the route to it in one step. The deployment is
 * live when every edge serves it; a worker that dies between is followed by one that only waits for that.
 */
export async function release(run: DeploymentRun): Promise<void> {
  if (!run.routeSwitched && !(await switchOver(run))) return;
  await edgesServe(run);
  if (!(await finishLive(run.deps.db, run.claim))) throw new Interrupted('superseded');
}

/** False where the image has to be built first. */
async function switchOver(run: DeploymentRun): Promise<boolean> {
  const { deps, deployment } = run;
  const spec = await loadReleaseSpec(deps.db, deps.keyring, deployment.id);
  if (!(await deps.images.has(spec.image))) {
    if (deployment.source_deployment_id)
      throw new ReleaseError('the image to roll back to is not on this host any more');
    await run.say('The image is not on this host; building it here');
    await run.advance({ to: 'building', begin: 'build' });
    return false;
  }

  const { preDeployCommand } = spec.configuration;
  if (preDeployCommand !== '') {
    await run.say(`Pre-deploy: ${preDeployCommand}`);
    await deps.runtime.runCommand(spec, preDeployCommand, {
      signal: run.signal,
      timeoutMs: PRE_DEPLOY_MINUTES * 60_000,
      onLine: (line) => run.channel.write('build', line),
    });
  }
  if (spec.image.manifest.type === 'process') {
    const command = spec.image.manifest.startCommand || "the image's own command";
    await run.say(`Starts ${spec.configuration.replicas} replica(s) of: ${command}`);
    await deps.runtime.release(spec, run.signal);
  }
  await run.say('The release is healthy; the route moves to it');
  // Everything said so far is stored before anybody can see the deployment as ended.
  await run.channel.close();
  run.signal.throwIfAborted();
  const version = await deps.db.transaction((trx) => switchRoute(trx, run.claim));
  if (version === undefined) throw new Interrupted('superseded');
  run.markSwitched();
  return true;
}

/** Waits a moment for the edges, so that who sees `live` meets the new release; one that hangs is not waited for. */
async function edgesServe({ deps, service: { id } }: DeploymentRun): Promise<void> {
  const service = await getService(deps.db, id);
  if (service) await edgesApplied(deps.db, id, service.route_version, null, EDGES_MS);
}
