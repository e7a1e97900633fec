import { errorMessage } from '../../../shared/core/error-registry.js';
import { readCanary } from '../../../shared/deployments/canary-store.js';
import type { DeploymentEvent } from '../../../shared/deployments/model.js';
import { isDataKind } from '../../../shared/services/model.js';
import { getService } from '../../../shared/services/store.js';
import { canaryFacts, obstacle } from '../../canaries/begin-canary.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import { edgesApplied } from '../../releases/edges-applied.js';
import { withoutSearchPath } from '../../releases/release-of-run.js';
import { loadReleaseSpec } from '../../releases/release-spec.js';
import type { ReleaseSpec } from '../../runtime/runtime-driver.js';
import type { DeploymentRun } from '../deployment-run.js';
import { runPreDeploy } from '../pre-deploy.js';

/**
 * Longest wait for the edges, in milliseconds. It can be short: an edge that still waits for slow requests to the old
 * release already serves the new release.
 */
const EDGES_MS = 2000;

/** Starts the new release next to the old one and waits until it is healthy. Throws `ReleaseError`. */
export async function release(run: DeploymentRun): Promise<DeploymentEvent> {
  const { deps, deployment } = run;
  // A static site needs no replica, and the files that this run has just built are on this host.
  if (isBuiltSite(run)) return healthy(run);
  const spec = await loadReleaseSpec(deps.db, deps.keyring, deployment.id);
  if (!(await deps.images.has(spec.image))) {
    if (deployment.source_deployment_id)
      throw new ReleaseError('the image to roll back to is not on this host any more');
    await run.say('The image is not on this host; building it here');
    return { type: 'imageMissing' };
  }

  if (isDataKind(spec.kind)) return releaseServer(run, spec);
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
    await (spec.hasVolumes ? takeVolumes(run, spec) : deps.runtime.release(spec, run.signal));
    await sayPort(run, spec);
  }
  return healthy(run);
}

function isBuiltSite({ image, service, deployment }: DeploymentRun): boolean {
  if (image?.manifest.type !== 'static' || deployment.configuration.preDeployCommand !== '') return false;
  return service.kind !== 'cron' && !isDataKind(service.kind);
}

async function healthy(run: DeploymentRun): Promise<DeploymentEvent> {
  const { event, says } = await afterRelease(run);
  await run.say(`The release is healthy; ${says}`);
  // The log of an ended deployment must be complete, so it is closed before the end is recorded.
  await run.channel.close();
  run.signal.throwIfAborted();
  return event;
}

async function afterRelease({ deps, deployment }: DeploymentRun): Promise<{ event: DeploymentEvent; says: string }> {
  if (deployment.together_id !== null) {
    const says = 'the route moves to it when all services that go live with it are ready';
    return { event: { type: 'prepared' }, says };
  }
  const facts = await canaryFacts(deps.db, deployment.id);
  const switched = { type: 'routeSwitched' } as const;
  if (facts === null) return { event: switched, says: 'the route moves to it' };
  const { percent, minutes, previousId } = facts;
  const why = obstacle(facts);
  if (why !== null || previousId === null)
    return { event: switched, says: `the route moves to it without a canary: ${why}` };
  const says = `${percent} % of visitors get it for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return { event: { type: 'canaryBegun', percent, minutes, previousId }, says };
}

async function releaseServer(run: DeploymentRun, spec: ReleaseSpec): Promise<DeploymentEvent> {
  await run.say('Starts the server; one that runs is stopped first, because a volume has one server');
  await releaseAlone(run, spec);
  await run.say('The server accepts connections');
  await run.channel.close();
  run.signal.throwIfAborted();
  return { type: 'routeSwitched' };
}

async function takeVolumes(run: DeploymentRun, spec: ReleaseSpec): Promise<void> {
  await run.say('A replica that runs is stopped first, because one at a time has the volumes; requests wait meanwhile');
  await releaseAlone(run, spec);
}

/** Starts the only replica of a service. If it does not become ready, starts the previous release again. */
async function releaseAlone(run: DeploymentRun, spec: ReleaseSpec): Promise<void> {
  try {
    await run.deps.runtime.release(spec, run.signal);
  } catch (error) {
    if (!run.signal.aborted) await startOldRelease(run, spec);
    throw error;
  }
}

async function startOldRelease(
  { deps, channel }: DeploymentRun,
  { serviceId, deploymentId }: ReleaseSpec,
): Promise<void> {
  const live = (await getService(deps.db, serviceId))?.live_deployment_id ?? null;
  if (live === null || live === deploymentId) return;
  try {
    await deps.runtime.stop(deploymentId);
    const old = await loadReleaseSpec(deps.db, deps.keyring, live);
    await deps.runtime.release(old, AbortSignal.timeout(deps.config.releaseTimeoutSeconds * 1000));
    await channel.write('system', 'The previous release is running again', 'warn');
  } catch (error) {
    // Logged and not thrown: a sweep will try again, because it starts live releases that have no replica.
    await channel.write('system', `The previous release does not start: ${errorMessage(error)}`, 'error');
  }
}

async function sayPort(run: DeploymentRun, { deploymentId }: ReleaseSpec): Promise<void> {
  for (const { port, given_port: givenPort } of await run.deps.runtime.inspect(deploymentId)) {
    if (!port || !givenPort || port === givenPort) continue;
    await run.say(`The application listens on port ${port}, not on PORT (${givenPort}); requests go to port ${port}`);
    return;
  }
}

/** Waits at most 2 s until every edge serves the release, so that users who see `live` reach it. */
export async function confirmEdges(run: DeploymentRun): Promise<DeploymentEvent> {
  if (run.deployment.steps.at(-1)?.name === 'canary') {
    await run.say(
      `The canary is over, all visitors get the release: ${(await readCanary(run.deps.db, run.deployment.id))?.reason}`,
    );
    await run.channel.close();
  }
  if (run.deployment.edges !== 0) {
    await edgesApplied(run.deps.db, run.deployment.service_id, null, run.signal, EDGES_MS);
  }
  return { type: 'edgesConfirmed' };
}
