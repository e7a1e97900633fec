import type { ServiceConfiguration } from './configuration.js';
import { isScalable } from './model.js';
import type { ServiceRow } from './rows.js';

type Scaled = Pick<ServiceRow, 'kind' | 'configuration' | 'scaled_replicas'>;

function scalesItself({ kind, configuration }: Pick<Scaled, 'kind' | 'configuration'>): boolean {
  return configuration.scaling === 'auto' && isScalable(kind);
}

/**
 * Returns how many replicas a service should have. With automatic scaling, this is the last decision, raised to
 * `minReplicas` or lowered to `maxReplicas` if necessary.
 */
export function wantedReplicas(service: Scaled): number {
  const { replicas, minReplicas, maxReplicas } = service.configuration;
  if (!scalesItself(service)) return replicas;
  return Math.min(Math.max(service.scaled_replicas ?? replicas, minReplicas), maxReplicas);
}

/** Returns the number of replicas with which a release of this configuration starts. */
export function replicasOfRelease(service: Scaled, { replicas }: Pick<ServiceConfiguration, 'replicas'>): number {
  // A new release starts even if the service is asleep, because only a running replica shows that it works.
  return scalesItself(service) ? Math.max(1, wantedReplicas(service)) : replicas;
}

/** Only web services can sleep, because only the edge can hold the request that wakes them. */
export const MAY_SLEEP = `(s.kind = 'web' and s.configuration @> '{"scaling": "auto", "minReplicas": 0}')`;

/** True if the service `s` is asleep without any replica. */
export const ASLEEP = `(${MAY_SLEEP} and s.scaled_replicas is not distinct from 0)`;

/** True if the replicas of the service `s` are frozen until the next request, or are about to be. */
export const FROZEN = `(s.asleep_since is not null and exists (select from replicas f
  where f.deployment_id = s.live_deployment_id and f.to_freeze and f.desired = 'running'))`;

/** SQL equivalent of `wantedReplicas` for a service `s`. */
export const WANTED_REPLICAS = `case
  when s.configuration ->> 'scaling' = 'auto' and s.kind in ('web', 'private', 'worker')
  then least(greatest(coalesce(s.scaled_replicas, (s.configuration ->> 'replicas')::int), (s.configuration ->> 'minReplicas')::int),
             (s.configuration ->> 'maxReplicas')::int)
  else (s.configuration ->> 'replicas')::int end`;
