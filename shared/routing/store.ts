import { type Db, oneRow, rowsOf, valuesOf } from '../core/database/database-client.js';
import { prepare, rowOfPrepared } from '../core/database/prepared.js';
import type { ImageManifest } from '../images/model.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { LifecycleStatus, ServiceKind } from '../services/model.js';

/** A replica of the live release that takes requests. */
export interface ReadyReplica {
  id: string;
  address: string;
  port: number;
}

/** Everything that determines what the edge serves for one service, read in one statement. */
export interface RouteFacts {
  serviceId: string;
  slug: string;
  kind: ServiceKind;
  lifecycleStatus: LifecycleStatus;
  deleted: boolean;
  version: number;
  ipAllowList: string[];
  maintenance: boolean;
  /** The page that visitors get during maintenance; empty at other times. */
  maintenancePage: string;
  platformDomainEnabled: boolean;
  /** Verified host names of the service. Only those that resolve to this platform get a certificate. */
  domains: { hostname: string; leadsHere: boolean }[];
  liveDeploymentId: string | null;
  /** The cache profile with which the live release was deployed. */
  cacheProfile: ServiceConfiguration['cacheProfile'] | null;
  digest: string | null;
  manifest: ImageManifest | null;
  replicas: ReadyReplica[];
  /** True if the service has volumes: requests wait while its one replica is replaced. */
  hasVolumes: boolean;
}

/** Workers do not wait for an edge that has been silent for longer, in seconds. */
const EDGE_SEEN_SECONDS = 6;
const QUERY_TIMEOUT_MS = 5_000;

/** SQL: the services of `:serviceIds`, and those whose live releases went live together with theirs. */
const AND_THOSE_TOGETHER = `array(
  select id from unnest(cast(:serviceIds as uuid[])) as given(id)
  union
  select t.id from services o
    join deployments mine on mine.id = o.live_deployment_id and mine.together_id is not null
    join deployments theirs on theirs.together_id = mine.together_id
    join services t on t.id = theirs.service_id and t.live_deployment_id = theirs.id
   where o.id = any(cast(:serviceIds as uuid[])))`;

/**
 * Returns the route facts of all services, or of the given ones. Adds those that went live together with one of them,
 * so that an edge never serves the new release of one beside the old release of another. Rejects after 5 s without an answer.
 * Services that were deleted within the last hour are included, so that every edge can acknowledge their removal.
 */
export async function loadRouteFacts(db: Db, serviceIds?: readonly string[]): Promise<RouteFacts[]> {
  const which = serviceIds === undefined ? '' : `and s.id = any(${AND_THOSE_TOGETHER})`;
  const query = db.raw(
    `select s.id as "serviceId", s.slug, s.kind, s.lifecycle_status as "lifecycleStatus",
            s.deleted_at is not null as deleted, s.route_version as version,
            coalesce(s.configuration -> 'ipAllowList', '[]') as "ipAllowList",
            coalesce((s.configuration ->> 'maintenance')::boolean, false) as maintenance,
            case when (s.configuration ->> 'maintenance')::boolean
                 then coalesce(s.configuration ->> 'maintenancePage', '') else '' end as "maintenancePage",
            coalesce((s.configuration ->> 'platformDomainEnabled')::boolean, true) as "platformDomainEnabled",
            s.live_deployment_id as "liveDeploymentId", d.configuration ->> 'cacheProfile' as "cacheProfile",
            i.digest, i.manifest, coalesce(r.replicas, '[]') as replicas, coalesce(n.names, '[]') as domains,
            exists (select from volumes v where v.service_id = s.id and v.removed_at is null) as "hasVolumes"
       from services s
       left join deployments d on d.id = s.live_deployment_id
       left join images i on i.id = d.image_id
       left join lateral (
         select jsonb_agg(jsonb_build_object('id', id, 'address', address, 'port', port)
                          order by generation, position) as replicas
           from replicas
          where service_id = s.id and deployment_id = s.live_deployment_id
            and desired = 'running' and state = 'ready' and port is not null
       ) r on true
       left join lateral (
         select jsonb_agg(jsonb_build_object('hostname', hostname, 'leadsHere', leads_here) order by hostname) as names
           from domains where service_id = s.id and status = 'active' and released_at is null
       ) n on true
      where (s.deleted_at is null or s.deleted_at > now() - interval '1 hour') ${which}`,
    serviceIds === undefined ? {} : { serviceIds: [...serviceIds] },
  );
  const { rows }: { rows: RouteFacts[] } = await query.timeout(QUERY_TIMEOUT_MS);
  return rows;
}

export interface EdgeIdentity {
  id: string;
  host: string;
  pid: number;
}

/** What an edge counts about itself: totals since its start, and current numbers. */
export interface EdgeFigures {
  /** Open connections of clients, and requests in progress on them. */
  connections: number;
  requests: number;
  /** Connections whose protocol was changed, such as WebSockets. */
  upgraded: number;
  /** Requests that were ended because the edge's own code threw an error. */
  failedExchanges: number;
  /** Connections that were closed because the client did not read its response, or was idle at a limit. */
  closedConnections: number;
  /** Connections that were refused at a limit. */
  refusedConnections: number;
}

/**
 * Records an edge's heartbeat. Workers wait for its acknowledgements from now on. Returns true if the edge was not
 * recorded before, so that it must acknowledge all routes again. Deletes edges that have been silent for an hour.
 */
export async function reportEdge(db: Db, edge: EdgeIdentity, figures: EdgeFigures): Promise<boolean> {
  const row = await oneRow<{ fresh: boolean }>(
    db,
    `with gone as (delete from edges where seen_at < now() - interval '1 hour' and id <> :id)
     insert into edges (id, host, pid, figures) values (:id, :host, :pid, :figures)
     on conflict (id) do update set seen_at = now(), figures = excluded.figures
     returning xmax = 0 as fresh`,
    { ...edge, figures: JSON.stringify(figures) },
  );
  return row?.fresh ?? false;
}

/** Returns the counters of edges that were seen within the last 6 s. */
export async function edgeFigures(db: Db): Promise<{ host: string; pid: number; figures: Partial<EdgeFigures> }[]> {
  return rowsOf(
    db,
    `select host, pid, figures from edges where seen_at > now() - make_interval(secs => ${EDGE_SEEN_SECONDS})`,
  );
}

/** Deletes the record of an edge that shuts down. */
export async function removeEdge(db: Db, edgeId: string): Promise<void> {
  await db.raw('delete from edges where id = ?', [edgeId]);
}

/**
 * Records that this edge serves these services at these versions, or at later ones. Returns the recorded ids.
 * Returns none if the edge is not recorded. Leaves out services that do not exist.
 */
export function acknowledgeRoutes(
  db: Db,
  edgeId: string,
  routes: readonly { serviceId: string; version: number }[],
): Promise<string[]> {
  return valuesOf<string>(
    db,
    `insert into edge_acknowledgements (edge_id, service_id, version)
     select e.id, s.id, a.version
       from unnest(?::uuid[], ?::bigint[]) as a (service_id, version)
       join services s on s.id = a.service_id
       join edges e on e.id = ?
      order by s.id
     on conflict (edge_id, service_id)
     do update set version = greatest(edge_acknowledgements.version, excluded.version)
     returning service_id`,
    [routes.map((r) => r.serviceId), routes.map((r) => r.version), edgeId],
  );
}

/** SQL: how many edges were seen in the last 6 s. */
export const EDGES = `select count(*) from edges e where e.seen_at > now() - interval '${EDGE_SEEN_SECONDS} seconds'`;

const WAITING_EDGES = prepare<{ waiting: number }>(
  `select (${EDGES}
      and not exists (select from edge_acknowledgements a
                       where a.edge_id = e.id and a.service_id = $1
                         and a.version >= coalesce(cast($2 as bigint), (select route_version from services where id = $1)))) as waiting`,
);

/**
 * Returns how many edges seen in the last 6 s do not yet serve the service at `version` or later. At 0, no new request
 * reaches what an older version routed to, and replicas that are no longer routed may be stopped. Without `version`,
 * the service's current one counts.
 */
export async function waitingEdges(db: Db, serviceId: string, version: number | null): Promise<number> {
  const row = await rowOfPrepared(db, WAITING_EDGES, [serviceId, version]);
  return row?.waiting ?? 0;
}
