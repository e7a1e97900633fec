import { isDeepStrictEqual } from 'node:util';
import type { CanaryRoute, ReadyReplica, RouteFacts } from '../../shared/routing/store.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import { isRouted } from '../../shared/services/model.js';
import type { RuleSet } from './rules/rule-set.js';

export type Target =
  /** With `holds`, requests wait while no replica is reachable. */
  | { type: 'proxy'; replicas: ReadyReplica[]; canary?: CanaryRoute; holds?: true }
  | {
      type: 'static';
      digest: string;
      publishDirectory: string;
      /** The page with which to respond to every unknown path; null if there is none. */
      fallback: string | null;
      /** The base path under which the pages expect to be served (`/shop`). */
      base?: string;
      cacheProfile: ServiceConfiguration['cacheProfile'];
    }
  /** With `holds`, requests wait until the service has a replica. With `wakes`, a request wakes the service. */
  | { type: 'unavailable'; reason: 'suspended' | 'not_deployed' | 'no_ready_replica'; holds?: true; wakes?: true };

export interface Route {
  serviceId: string;
  host: string;
  /** False if the name does not resolve to this platform: no certificate authority could validate it. */
  certified: boolean;
  /** An empty list admits all. */
  allow: string[];
  /** Null without maintenance; '' for the default page. */
  maintenance: string | null;
  sleeps: boolean;
  redirectTo?: string;
  rules?: RuleSet;
  target: Target;
}

/** Host → route. A route is never modified: a new one replaces it. */
export type RouteTable = ReadonlyMap<string, Route>;

/** Returns a service's routes; none if the edge must not serve it. */
export function routesOf(facts: RouteFacts, domain: string, rules?: RuleSet): Route[] {
  const gone = facts.deleted || facts.lifecycleStatus === 'deleting' || facts.lifecycleStatus === 'deleted';
  if (gone || !isRouted(facts.kind)) return [];
  const served = {
    serviceId: facts.serviceId,
    allow: facts.ipAllowList,
    maintenance: facts.maintenance ? facts.maintenancePage : null,
    sleeps: facts.sleeps,
    ...(rules === undefined ? {} : { rules }),
    target: targetOf(facts),
  };
  const platform = facts.platformDomainEnabled ? [{ host: `${facts.slug}.${domain}`, certified: true }] : [];
  const own = facts.domains.map(({ hostname, leadsHere, redirectTo }) => ({
    host: hostname,
    certified: leadsHere,
    ...(redirectTo === null ? {} : { redirectTo }),
  }));
  return [...platform, ...own].map((place) => ({ ...served, ...place }));
}

function targetOf(facts: RouteFacts): Target {
  if (facts.lifecycleStatus === 'suspended') return { type: 'unavailable', reason: 'suspended' };
  if (facts.liveDeploymentId === null || facts.manifest === null || facts.digest === null) {
    return { type: 'unavailable', reason: 'not_deployed' };
  }
  if (facts.manifest.type === 'static') {
    return {
      type: 'static',
      digest: facts.digest,
      publishDirectory: facts.manifest.publishDirectory,
      fallback: facts.manifest.fallback ?? null,
      ...(facts.manifest.base === undefined ? {} : { base: facts.manifest.base }),
      cacheProfile: facts.cacheProfile ?? 'none',
    };
  }
  const holds = facts.hasVolumes ? { holds: true as const } : {};
  if (facts.replicas.length === 0) {
    const wakes = facts.sleeps ? { holds: true as const, wakes: true as const } : {};
    return { type: 'unavailable', reason: 'no_ready_replica', ...holds, ...wakes };
  }
  const { canary } = facts;
  // If no replica of the canary is ready, all visitors get the live release.
  const some = canary === null || canary.replicas.length === 0 ? {} : { canary };
  return { type: 'proxy', replicas: facts.replicas, ...some, ...holds };
}

export type Rules = ReadonlyMap<string, RuleSet>;
const NONE: Rules = new Map();

/** Adds the routes of services to a table. A route that has not changed stays the same object. */
export function addRoutes(
  table: Map<string, Route>,
  all: readonly RouteFacts[],
  { domain, previous, rules = NONE }: { domain: string; previous: RouteTable; rules?: Rules },
): RouteTable {
  for (const route of all.flatMap((facts) => routesOf(facts, domain, rules.get(facts.serviceId)))) {
    const before = previous.get(route.host);
    table.set(route.host, before !== undefined && isDeepStrictEqual(before, route) ? before : route);
  }
  return table;
}

/** Replaces the routes of services, and updates `hostsOf`. Returns the hosts whose routes changed. */
export function updateTable(
  table: Map<string, Route>,
  hostsOf: Map<string, readonly string[]>,
  changed: readonly RouteFacts[],
  { domain, rules = NONE }: { domain: string; rules?: Rules },
): Set<string> {
  const hosts = new Set<string>();
  for (const facts of changed) {
    const { serviceId } = facts;
    const fresh = new Map(routesOf(facts, domain, rules.get(serviceId)).map((route) => [route.host, route]));
    for (const host of hostsOf.get(serviceId) ?? []) {
      // Another service may have taken the host in the meantime.
      if (fresh.has(host) || table.get(host)?.serviceId !== serviceId) continue;
      table.delete(host);
      hosts.add(host);
    }
    for (const [host, route] of fresh) {
      if (isDeepStrictEqual(table.get(host), route)) continue;
      table.set(host, route);
      hosts.add(host);
    }
    if (fresh.size === 0) hostsOf.delete(serviceId);
    else hostsOf.set(serviceId, [...fresh.keys()]);
  }
  return hosts;
}

/** Returns the hosts of each service in the table. */
export function hostsByService(table: RouteTable): Map<string, string[]> {
  const hostsOf = new Map<string, string[]>();
  for (const [host, { serviceId }] of table) {
    const hosts = hostsOf.get(serviceId);
    if (hosts === undefined) hostsOf.set(serviceId, [host]);
    else hosts.push(host);
  }
  return hostsOf;
}
