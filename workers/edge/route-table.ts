import { isDeepStrictEqual } from 'node:util';
import type { ReadyReplica, RouteFacts } from '../../shared/routing/store.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import { isRouted } from '../../shared/services/model.js';

/** What a host serves. */
export type Target =
  /** If `holds` is set, requests wait for a replica if there is none, or if none can be reached. */
  | { type: 'proxy'; replicas: ReadyReplica[]; holds?: true }
  | {
      type: 'static';
      digest: string;
      publishDirectory: string;
      /** The page that answers every unknown path; null if there is none. */
      fallback: string | null;
      /** The path below which the pages expect the site (`/shop`); absent if it is `/`. */
      base?: string;
      cacheProfile: ServiceConfiguration['cacheProfile'];
    }
  | { type: 'unavailable'; reason: 'suspended' | 'not_deployed' | 'no_ready_replica'; holds?: true };

export interface Route {
  serviceId: string;
  host: string;
  /**
   * False for a host whose name resolves elsewhere: it gets no certificate, because a certificate authority could not
   * check it.
   */
  certified: boolean;
  /** Admitted addresses and ranges. An empty list admits all. */
  allow: string[];
  /** The page of a service under maintenance ('' stands for the default page); null otherwise. */
  maintenance: string | null;
  target: Target;
}

/** Host → route. Never changed in place: a new table replaces the old one. */
export type RouteTable = ReadonlyMap<string, Route>;

/** Returns a service's routes, one for each of its hosts; none if the edge must not serve it. */
export function routesOf(facts: RouteFacts, domain: string): Route[] {
  const gone = facts.deleted || facts.lifecycleStatus === 'deleting' || facts.lifecycleStatus === 'deleted';
  if (gone || !isRouted(facts.kind)) return [];
  const served = {
    serviceId: facts.serviceId,
    allow: facts.ipAllowList,
    maintenance: facts.maintenance ? facts.maintenancePage : null,
    target: targetOf(facts),
  };
  const platform = facts.platformDomainEnabled ? [{ host: `${facts.slug}.${domain}`, certified: true }] : [];
  const own = facts.domains.map(({ hostname, leadsHere }) => ({ host: hostname, certified: leadsHere }));
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
  if (facts.replicas.length === 0) return { type: 'unavailable', reason: 'no_ready_replica', ...holds };
  return { type: 'proxy', replicas: facts.replicas, ...holds };
}

/** Returns the table of all services. An unchanged route stays the same object. */
export function tableOf(all: readonly RouteFacts[], domain: string, previous: RouteTable): RouteTable {
  return withRoutes(new Map(), all, domain, previous);
}

/** Returns the table with the routes of these services replaced. */
export function updatedTable(table: RouteTable, changed: readonly RouteFacts[], domain: string): RouteTable {
  const ids = new Set(changed.map((facts) => facts.serviceId));
  const kept = new Map([...table].filter(([, route]) => !ids.has(route.serviceId)));
  return withRoutes(kept, changed, domain, table);
}

function withRoutes(
  table: Map<string, Route>,
  all: readonly RouteFacts[],
  domain: string,
  previous: RouteTable,
): RouteTable {
  for (const route of all.flatMap((facts) => routesOf(facts, domain))) {
    const before = previous.get(route.host);
    table.set(route.host, before !== undefined && isDeepStrictEqual(before, route) ? before : route);
  }
  return table;
}
