import type { DeploymentEvent } from '../../../shared/deployments/model.js';
import { getImage } from '../../../shared/images/store.js';
import { isDataKind } from '../../../shared/services/model.js';
import { SourceError } from '../../failures/explained-errors.js';
import type { DeploymentRun } from '../deployment-run.js';

/** Finds the commit or digest to deploy. A rollback already has its image and continues with the release. */
export async function queued(run: DeploymentRun): Promise<DeploymentEvent> {
  const { deployment, service, deps } = run;
  if (deployment.image_id) {
    const image = await getImage(deps.db, deployment.image_id);
    if (!image || image.removed_at) throw new SourceError('the image to roll back to is no longer retained');
    await run.say(`Rolls back to deployment ${deployment.source_deployment_id}`);
    return { type: 'imageFound' };
  }

  if (isDataKind(service.kind)) {
    const what = service.kind === 'postgres' ? `PostgreSQL ${deployment.configuration.databaseVersion}` : 'Redis';
    await run.say(`Deploys ${what} with the plan ${deployment.configuration.plan}`);
    return { type: 'resolved', commitSha: '', commitMessage: '' };
  }
  deps.builder.expectBuild?.();
  const origin = await deps.origins.resolve({
    workspaceId: service.workspace_id,
    configuration: deployment.configuration,
    sha: deployment.commit_sha,
    signal: run.signal,
  });
  await run.say(origin.description);
  return { type: 'resolved', commitSha: origin.sha, commitMessage: origin.message };
}
