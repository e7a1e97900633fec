import { getImage } from '../../../shared/db/images.js';
import { repositoryProblem } from '../../../shared/domain/source.js';
import { SourceError } from '../../sources/source.js';
import type { DeploymentRun } from '../run.js';

/** Checks the source and finds the commit; a rollback has its image and goes on to its release. */
export async function queued(run: DeploymentRun): Promise<void> {
  const { deployment, deps } = run;
  if (deployment.image_id) {
    const image = await getImage(deps.db, deployment.image_id);
    if (!image || image.removed_at) throw new SourceError('the image to roll back to is no longer retained');
    await run.say(`Rolls back to deployment ${deployment.source_deployment_id}`);
    await run.advance({ to: 'releasing', begin: 'release' });
    return;
  }

  const { repository, branch } = deployment.configuration;
  const problem = repositoryProblem(repository, deps.config.allowLocalRepositories);
  if (problem) throw new SourceError(problem);
  const ref = deployment.commit_sha || branch;
  const commit = await deps.source.resolve({ url: repository, ref, signal: run.signal });
  await run.say(
    `Deploys ${ref === commit.sha ? 'commit' : `branch ${branch} at`} ${commit.sha.slice(0, 12)}: ${commit.message}`,
  );
  await run.advance({ to: 'building', begin: 'build', commitSha: commit.sha, commitMessage: commit.message });
}
