import type { Config } from '../shared/config.js';
import type { ServiceRow } from '../shared/db/rows.js';

/** False where hosting is disabled and the service has no runtime: there is nothing to show (specification, Deployments). */
export function isHosted(
  config: Pick<Config, 'hostingEnabled'>,
  service: Pick<ServiceRow, 'live_deployment_id'>,
): boolean {
  return config.hostingEnabled || service.live_deployment_id !== null;
}

export function unavailableReason(available: boolean): string {
  return available ? '' : 'Hosting is disabled on this installation';
}
