import { type Config, edgeUrl, serviceUrl } from '../../../shared/core/config.js';
import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import { isRouted } from '../../../shared/services/model.js';
import { estimatedMonthly } from '../../../shared/services/plan-catalog.js';
import { maskedRepository } from '../../../shared/services/service-source.js';
import type { ServiceView } from '../../../shared/services/store.js';
import { wantedReplicas } from '../../../shared/services/wanted-replicas.js';
import { present } from '../../http/present.js';
import { type ServicePresentation, ServiceSchema } from './schema.js';
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
  const { configuration } = row;
  const status = serviceStatus({
    lifecycleStatus: row.lifecycle_status,
    liveDeploymentId: row.live_deployment_id,
    latestDeploymentState: row.latest_deployment_state,
  });
  return present(ServiceSchema, row, {
    configuration: presentConfiguration(configuration),
    status,
    displayStatus: displayStatus(status),
    url: urlOf(row, config),
    internalHost: row.slug,
    volumeHost: row.volume_host ?? undefined,
    ...sleepOf(row),
    deploymentId: row.latest_deployment_id,
    deploymentUpdatedAt: row.latest_deployment_updated_at?.toISOString() ?? null,
    estimatedMonthly: estimatedMonthly(row.kind, configuration.plan, wantedReplicas(row)),
  });
}

/** `frozen` means that the replicas of the sleeping service are frozen instead of stopped. */
function sleepOf(row: ServiceView) {
  const { asleep_since, last_asleep_since, woke_at, frozen } = row;
  const ended = wantedReplicas(row) === 0;
  const lastSleep = last_asleep_since &&
    woke_at && { from: last_asleep_since.toISOString(), until: woke_at.toISOString() };
  return {
    asleepSince: ended || frozen ? asleep_since?.toISOString() : undefined,
    frozen: (frozen && !ended) || undefined,
    lastSleep: lastSleep ?? undefined,
  };
}

function urlOf({ kind, slug, configuration, own_domain }: ServiceView, config: Config): string {
  if (!isRouted(kind)) return '';
  if (configuration.platformDomainEnabled) return serviceUrl(config, slug);
  return own_domain === null ? '' : edgeUrl(config, own_domain);
}
