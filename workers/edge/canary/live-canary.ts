import type { SideName } from '../../../shared/deployments/canary-store.js';
import type { Upstream } from '../proxy/replicas/upstream.js';
import type { ServiceTraffic } from '../traffic-meter.js';

/** A canary that an edge serves: the share of visitors, the new release's replicas, and both releases' counters. */
export interface LiveCanary {
  deploymentId: string;
  percent: number;
  upstreams: readonly Upstream[];
  new: ServiceTraffic;
  previous: ServiceTraffic;
}

/** The release (`new` or `previous`) that serves one request during a canary, and the counters of that release. */
export interface VisitorSide {
  side: SideName;
  counts: ServiceTraffic;
  /** True if the response ended too early, after its headers had been sent. */
  brokeOff: boolean;
}

/** Returns the name under which requests to one of a canary's two releases are counted. */
export function canaryKey(deploymentId: string, side: SideName): string {
  return `${deploymentId}/${side}`;
}
