import type { SideName } from '../../../shared/deployments/canary-store.js';
import type { Upstream } from '../proxy/replicas/upstream.js';
import type { ServiceTraffic } from '../traffic-meter.js';

/** A canary whose replicas have connections, with the counts of both sides. */
export interface LiveCanary {
  deploymentId: string;
  percent: number;
  upstreams: readonly Upstream[];
  new: ServiceTraffic;
  previous: ServiceTraffic;
}

/** The side of a canary that serves one request. */
export interface VisitorSide {
  side: SideName;
  counts: ServiceTraffic;
  /** True if the answer broke off after its head. */
  brokeOff: boolean;
}

/** Returns the name under which a side is counted. */
export function canaryKey(deploymentId: string, side: SideName): string {
  return `${deploymentId}/${side}`;
}
