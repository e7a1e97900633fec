import { getImage, insertImage } from '../../../shared/db/images.js';
import type { DeploymentRun } from '../run.js';

/** Makes the image. One that an interrupted worker has stored already is not made again. */
export async function build(run: DeploymentRun): Promise<void> {
  const { deployment, service, deps } = run;
  const existing = deployment.image_id ? await getImage(deps.db, deployment.image_id) : undefined;
  if (existing && (await deps.images.has(existing))) {
    await run.advance({ to: 'releasing', begin: 'release' });
    return;
  }

  const built = await deps.builder.build(
    {
      id: `${deployment.id}-${deployment.fence}`,
      workspaceId: service.workspace_id,
      serviceId: service.id,
      userNumber: service.user_number,
      kind: service.kind,
      configuration: deployment.configuration,
      repository: deployment.configuration.repository,
      commitSha: deployment.commit_sha,
      clearCache: deployment.clear_cache,
      environment: run.variables,
    },
    {
      signal: run.signal,
      log: (message, level) => run.channel.write('build', message, level),
      masker: run.channel.masker,
    },
  );
  await run.say(`Image ${built.digest.slice(0, 12)} is stored (${Math.ceil(built.sizeBytes / 1024)} KiB)`);
  await deps.db.transaction(async (trx) => {
    const image = await insertImage(trx, {
      workspaceId: service.workspace_id,
      serviceId: service.id,
      digest: built.digest,
      manifest: built.manifest,
      sizeBytes: built.sizeBytes,
    });
    await run.advance({ to: 'releasing', begin: 'release', imageId: image.id }, trx);
  });
}
