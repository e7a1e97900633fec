import type { SideName } from '../../../shared/deployments/canary-store.js';
import type { Upstream } from '../proxy/replicas/upstream.js';
import type { ServiceTraffic } from '../traffic-meter.js';

export interface LiveCanary {
  deploymentId: string;
  percent: number;
  upstreams: readonly Upstream[];
  new: ServiceTraffic;
  previous: ServiceTraffic;
}

export interface VisitorSide {
  side: SideName;
  counts: ServiceTraffic;
  /** True if the response ended too early, after its headers had been sent. */
  brokeOff: boolean;
}

/** Returns the name under which requests to one of a canary's releases are counted. */
export function canaryKey(deploymentId: string, side: SideName): string {
  return `${deploymentId}/${side}`;
}
