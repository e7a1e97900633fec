import type { ServiceConfiguration } from './configuration.js';
import { isScalable } from './model.js';
import type { ServiceRow } from './rows.js';

type Scaled = Pick<ServiceRow, 'kind' | 'configuration' | 'scaled_replicas'>;

/** Returns true if the platform decides the service's number of replicas. */
function scalesItself({ kind, configuration }: Pick<Scaled, 'kind' | 'configuration'>): boolean {
  return configuration.scaling === 'auto' && isScalable(kind);
}

/**
 * Returns how many replicas a service should have. This is the owner's setting, or automatic scaling's last decision
 * within the owner's current bounds.
 */
export function wantedReplicas(service: Scaled): number {
  const { replicas, minReplicas, maxReplicas } = service.configuration;
  if (!scalesItself(service)) return replicas;
  return Math.min(Math.max(service.scaled_replicas ?? replicas, minReplicas), maxReplicas);
}

/** Returns how many replicas a release of the service with this configuration starts with. */
export function replicasOfRelease(service: Scaled, { replicas }: Pick<ServiceConfiguration, 'replicas'>): number {
  return scalesItself(service) ? wantedReplicas(service) : replicas;
}

/** SQL: `wantedReplicas` of a service `s`. */
export const WANTED_REPLICAS = `case
  when s.configuration ->> 'scaling' = 'auto' and s.kind in ('web', 'private', 'worker')
  then least(greatest(coalesce(s.scaled_replicas, (s.configuration ->> 'replicas')::int), (s.configuration ->> 'minReplicas')::int),
             (s.configuration ->> 'maxReplicas')::int)
  else (s.configuration ->> 'replicas')::int end`;
