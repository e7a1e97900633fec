import type { DeploymentEvent } from '../../../shared/deployments/model.js';
import { getImage } from '../../../shared/images/store.js';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../shared/services/configuration.js';
import { isDataKind, type ServiceKind } from '../../../shared/services/model.js';
import type { DeploymentRun } from '../deployment-run.js';

/** Builds the image, unless an interrupted worker has already stored it. */
export async function build(run: DeploymentRun): Promise<DeploymentEvent> {
  const { deployment, service, deps } = run;
  const existing = deployment.image_id ? await getImage(deps.db, deployment.image_id) : undefined;
  if (existing && (await deps.images.has(existing))) return { type: 'built', image: null };

  if (isDataKind(service.kind)) {
    const image = await deps.dataBuilder.build(service.kind, deployment.configuration, {
      signal: run.signal,
      log: (message, level) => run.channel.write('build', message, level),
    });
    return { type: 'built', image };
  }

  const image = await deps.builder.build(
    {
      id: `${deployment.id}-${deployment.fence}`,
      workspaceId: service.workspace_id,
      serviceId: service.id,
      userNumber: service.user_number,
      environmentId: service.environment_id,
      kind: service.kind,
      configuration: forBuild(service.kind, deployment.configuration),
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
  await run.say(`Image ${image.digest.slice(0, 12)} is stored (${Math.ceil(image.sizeBytes / 1024)} KiB)`);
  return { type: 'built', image };
}

/** A cron service's `timeoutSeconds` limits its runs, and not its builds. */
function forBuild(kind: ServiceKind, configuration: ServiceConfiguration): ServiceConfiguration {
  return kind === 'cron' ? { ...configuration, timeoutSeconds: DEFAULT_CONFIGURATION.timeoutSeconds } : configuration;
}
