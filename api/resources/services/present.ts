import { type Config, edgeUrl, serviceUrl } from '../../../shared/core/config.js';
import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import { isRouted } from '../../../shared/services/model.js';
import { estimatedMonthly } from '../../../shared/services/plan-catalog.js';
import { maskedRepository } from '../../../shared/services/service-source.js';
import type { ServiceView } from '../../../shared/services/store.js';
import { wantedReplicas } from '../../../shared/services/wanted-replicas.js';
import type { ServicePresentation } from './schema.js';
import { displayStatus, serviceStatus } from './service-status.js';

/** Returns false if hosting is disabled and the service has no release (specification, Deployments). */
export function isHosted(
  config: Pick<Config, 'hostingEnabled'>,
  service: Pick<ServiceView, 'live_deployment_id'>,
): boolean {
  return config.hostingEnabled || service.live_deployment_id !== null;
}

/** Presents a configuration. Credentials in the repository's URL are masked. */
export function presentConfiguration(configuration: ServiceConfiguration): ServiceConfiguration {
  return { ...configuration, repository: maskedRepository(configuration.repository) };
}

export function presentService(row: ServiceView, config: Config): ServicePresentation {
  const status = serviceStatus({
    lifecycleStatus: row.lifecycle_status,
    liveDeploymentId: row.live_deployment_id,
    latestDeploymentState: row.latest_deployment_state,
  });
  const { configuration } = row;
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    archived: row.archived,
    configuration: presentConfiguration(configuration),
    projectId: row.project_id,
    environmentId: row.environment_id,
    environmentGroupIds: row.environment_group_ids,
    status,
    displayStatus: displayStatus(status),
    lifecycleStatus: row.lifecycle_status,
    healthStatus: row.health_status,
    healthCheckedAt: row.health_checked_at?.toISOString() ?? null,
    runtimeDetail: row.runtime_detail,
    url: urlOf(row, config),
    internalHost: row.slug,
    ...(row.volume_host === null ? {} : { volumeHost: row.volume_host }),
    ...presentSleep(row),
    deploymentId: row.latest_deployment_id,
    deploymentUpdatedAt: row.latest_deployment_updated_at?.toISOString() ?? null,
    liveDeploymentId: row.live_deployment_id,
    estimatedMonthly: estimatedMonthly(row.kind, configuration.plan, wantedReplicas(row)),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    deletedAt: row.deleted_at?.toISOString() ?? null,
    deletionRequestedAt: row.deletion_requested_at?.toISOString() ?? null,
  };
}

/**
 * Presents a service's current sleep and its last completed one; omits each if there is none. `frozen` means that the
 * replicas of the sleeping service are frozen instead of stopped.
 */
function presentSleep(row: ServiceView): Pick<ServicePresentation, 'asleepSince' | 'frozen' | 'lastSleep'> {
  const { asleep_since, last_asleep_since, woke_at, frozen } = row;
  const ended = wantedReplicas(row) === 0;
  return {
    ...(asleep_since !== null && (ended || frozen) ? { asleepSince: asleep_since.toISOString() } : {}),
    ...(frozen && !ended ? { frozen } : {}),
    ...(last_asleep_since === null || woke_at === null
      ? {}
      : { lastSleep: { from: last_asleep_since.toISOString(), until: woke_at.toISOString() } }),
  };
}

/** Returns the service's public URL: on the platform domain if enabled, otherwise on its own domain. */
function urlOf({ kind, slug, configuration, own_domain }: ServiceView, config: Config): string {
  if (!isRouted(kind)) return '';
  if (configuration.platformDomainEnabled) return serviceUrl(config, slug);
  return own_domain === null ? '' : edgeUrl(config, own_domain);
}
