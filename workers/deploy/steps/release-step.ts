import { errorMessage } from '../../../shared/core/error-registry.js';
import type { DeploymentEvent } from '../../../shared/deployments/model.js';
import { isDataKind } from '../../../shared/services/model.js';
import { getService } from '../../../shared/services/store.js';
import { listVolumes } from '../../../shared/volumes/store.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import { edgesApplied } from '../../releases/edges-applied.js';
import { withoutSearchPath } from '../../releases/release-of-run.js';
import { loadReleaseSpec } from '../../releases/release-spec.js';
import type { ReleaseSpec } from '../../runtime/runtime-driver.js';
import type { DeploymentRun } from '../deployment-run.js';
import { runPreDeploy } from '../pre-deploy.js';

/**
 * The longest wait for the edges, in milliseconds. An edge that still drains slow requests already serves the new
 * release.
 */
const EDGES_MS = 2000;

/** Starts the new release beside the old one and waits until it is healthy. Throws `ReleaseError`. */
export async function release(run: DeploymentRun): Promise<DeploymentEvent> {
  const { deps, deployment } = run;
  // A site that this run has just built is on this host, and needs no replica.
  if (isBuiltSite(run)) return healthy(run);
  const spec = await loadReleaseSpec(deps.db, deps.keyring, deployment.id);
  if (!(await deps.images.has(spec.image))) {
    if (deployment.source_deployment_id)
      throw new ReleaseError('the image to roll back to is not on this host any more');
    await run.say('The image is not on this host; building it here');
    return { type: 'imageMissing' };
  }

  if (isDataKind(spec.kind)) return releaseServer(run, spec);
  if ((await listVolumes(deps.db, spec.serviceId)).length > 0)
    throw new ReleaseError('this version does not mount volumes; delete the volumes of the service');
  const { preDeployCommand } = spec.configuration;
  const command = preDeployCommand || withoutSearchPath(spec.image.manifest.releaseCommand ?? '');
  if (command !== '') {
    await run.say(
      preDeployCommand === '' ? 'Runs the release line of the Procfile' : `Pre-deploy: ${preDeployCommand}`,
    );
    await runPreDeploy(run, command);
  }
  if (spec.kind === 'cron') {
    const { schedule, timezone } = (await getService(deps.db, spec.serviceId))?.configuration ?? spec.configuration;
    await run.say(`The release is ready; the next run starts on its schedule "${schedule}" (${timezone})`);
  } else if (spec.image.manifest.type === 'process') {
    const { shownCommand, startCommand } = spec.image.manifest;
    const command = shownCommand || startCommand || "the image's own command";
    await run.say(
      `Starts ${spec.configuration.replicas === 1 ? 'a replica' : `${spec.configuration.replicas} replicas`} with: ${command}`,
    );
    await deps.runtime.release(spec, run.signal);
    await sayPort(run, spec);
  }
  return healthy(run);
}

function isBuiltSite({ image, service, deployment }: DeploymentRun): boolean {
  if (image?.manifest.type !== 'static' || deployment.configuration.preDeployCommand !== '') return false;
  return service.kind !== 'cron' && !isDataKind(service.kind);
}

async function healthy(run: DeploymentRun): Promise<DeploymentEvent> {
  await run.say('The release is healthy; the route moves to it');
  // The log is complete before any reader can see that the deployment has ended.
  await run.channel.close();
  run.signal.throwIfAborted();
  return { type: 'routeSwitched' };
}

/**
 * Starts a database's server. A volume has one server, so the running one stops first.
 * If the new server does not start, the old one starts again, which keeps the time without a server short.
 */
async function releaseServer(run: DeploymentRun, spec: ReleaseSpec): Promise<DeploymentEvent> {
  const { deps } = run;
  await run.say('Starts the server; one that runs is stopped first, because a volume has one server');
  try {
    await deps.runtime.release(spec, run.signal);
  } catch (error) {
    if (!run.signal.aborted) await startOldServer(run, spec);
    throw error;
  }
  await run.say('The server accepts connections');
  await run.channel.close();
  run.signal.throwIfAborted();
  return { type: 'routeSwitched' };
}

async function startOldServer(
  { deps, channel }: DeploymentRun,
  { serviceId, deploymentId }: ReleaseSpec,
): Promise<void> {
  const live = (await getService(deps.db, serviceId))?.live_deployment_id ?? null;
  if (live === null || live === deploymentId) return;
  try {
    await deps.runtime.stop(deploymentId);
    const old = await loadReleaseSpec(deps.db, deps.keyring, live);
    await deps.runtime.release(old, AbortSignal.timeout(deps.config.releaseTimeoutSeconds * 1000));
    await channel.write('system', 'The server of the previous release runs again', 'warn');
  } catch (error) {
    // The sweep of releases without a server tries again.
    await channel.write('system', `The server of the previous release does not start: ${errorMessage(error)}`, 'error');
  }
}

/** Logs which port was found, if the application listens on another one than PORT. */
async function sayPort(run: DeploymentRun, { deploymentId }: ReleaseSpec): Promise<void> {
  for (const { port, given_port: givenPort } of await run.deps.runtime.inspect(deploymentId)) {
    if (!port || !givenPort || port === givenPort) continue;
    await run.say(`The application listens on port ${port}, not on PORT (${givenPort}); requests go to port ${port}`);
    return;
  }
}

/**
 * Waits at most 2 s until every edge serves the release, so that a caller who sees `live` reaches it.
 * If a worker dies here, the next one only repeats the wait.
 */
export async function confirmEdges(run: DeploymentRun): Promise<DeploymentEvent> {
  // If no edge runs, there is nothing to wait for.
  if (run.deployment.edges !== 0) {
    await edgesApplied(run.deps.db, run.deployment.service_id, null, run.signal, EDGES_MS);
  }
  return { type: 'edgesConfirmed' };
}
