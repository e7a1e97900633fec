import { getImage } from '../../../shared/db/images.js';
import { SourceError } from '../../sources/source.js';
import type { DeploymentRun } from '../run.js';

/** Checks the source and finds exactly what is to be deployed; a rollback has its image and goes on to its release. */
export async function queued(run: DeploymentRun): Promise<void> {
  const { deployment, service, deps } = run;
  if (deployment.image_id) {
    const image = await getImage(deps.db, deployment.image_id);
    if (!image || image.removed_at) throw new SourceError('the image to roll back to is no longer retained');
    await run.say(`Rolls back to deployment ${deployment.source_deployment_id}`);
    await run.advance({ to: 'releasing', begin: 'release' });
    return;
  }

  const origin = await deps.origins.resolve({
    workspaceId: service.workspace_id,
    configuration: deployment.configuration,
    sha: deployment.commit_sha,
    signal: run.signal,
  });
  await run.say(origin.description);
  await run.advance({ to: 'building', begin: 'build', commitSha: origin.sha, commitMessage: origin.message });
}
