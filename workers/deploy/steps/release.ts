import { goLive } from '../../../shared/db/deployments.js';
import { Interrupted } from '../../interrupted.js';
import { ReleaseError } from '../../runtime/driver.js';
import { loadReleaseSpec } from '../release-spec.js';
import type { DeploymentRun } from '../run.js';

const PRE_DEPLOY_MINUTES = 30;

/** Starts the new release beside the old one and, when it is healthy, moves the route to it in one step. */
export async function release(run: DeploymentRun): Promise<void> {
  const { deps, deployment } = run;
  const spec = await loadReleaseSpec(deps.db, deps.keyring, deployment.id);
  if (!(await deps.images.has(spec.image.digest))) {
    if (deployment.source_deployment_id)
      throw new ReleaseError('the image to roll back to is not on this host any more');
    await run.say('The image is not on this host; building it here');
    await run.advance({ to: 'building', begin: 'build' });
    return;
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
    await run.say(`Starts ${spec.configuration.replicas} replica(s) of: ${spec.image.manifest.startCommand}`);
    await deps.runtime.release(spec, run.signal);
  }
  await run.say('The release is healthy; the route moves to it');
  // Everything said so far is stored before anybody can see the deployment as ended.
  await run.channel.close();
  run.signal.throwIfAborted();
  const version = await deps.db.transaction((trx) => goLive(trx, run.claim));
  if (version === undefined) throw new Interrupted('superseded');
}
