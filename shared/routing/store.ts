import { anyRow, type Db, oneValue, rowsOf, type Transaction, valuesOf } from '../core/database/database-client.js';
import { prepare, rowOfPrepared } from '../core/database/prepared.js';
import type { ImageManifest } from '../images/model.js';
import { RULES_KEY } from '../rules/store.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { LifecycleStatus, ServiceKind } from '../services/model.js';
import { FROZEN, MAY_SLEEP } from '../services/wanted-replicas.js';

export interface ReadyReplica {
  id: string;
  address: string;
  port: number;
}

/** A canary: a new release that gets only a share of the visitors, `percent` of 100. */
export interface CanaryRoute {
  deploymentId: string;
  percent: number;
  replicas: ReadyReplica[];
}

/** Everything that determines what the edge serves for a service, read in one statement. */
export interface RouteFacts {
  serviceId: string;
  slug: string;
  kind: ServiceKind;
  lifecycleStatus: LifecycleStatus;
  deleted: boolean;
  version: number;
  ipAllowList: string[];
  maintenance: boolean;
  /** The page shown to visitors during maintenance; empty at other times. */
  maintenancePage: string;
  platformDomainEnabled: boolean;
  /** Verified host names of the service. Only those that resolve to an edge (`leadsHere`) get a certificate. */
  domains: { hostname: string; leadsHere: boolean; redirectTo: string | null }[];
  liveDeploymentId: string | null;
  /** The cache profile with which the live release was deployed. */
  cacheProfile: ServiceConfiguration['cacheProfile'] | null;
  digest: string | null;
  /** The manifest of the live release's image. It excludes the rules of a static site, which are loaded separately. */
  manifest: ImageManifest | null;
  /** Identifies the version of the rules of the service and its live site; '' if there are none. */
  rulesKey: string;
  replicas: ReadyReplica[];
  /** Null if no canary is under way. */
  canary: CanaryRoute | null;
  /** True if the service has volumes. Requests then wait while its only replica is replaced. */
  hasVolumes: boolean;
  /** True if the service sleeps when it gets no requests. The next request wakes it. */
  sleeps: boolean;
}

/** Seconds without a heartbeat after which workers no longer wait for an edge. */
const EDGE_SEEN_SECONDS = 6;
const QUERY_TIMEOUT_MS = 5_000;
/** Long, because PostgreSQL reads whole tables before it returns the first page of all services. */
const PAGE_TIMEOUT_MS = 60_000;

/** SQL: the replicas that take requests, as JSON; null if there are none. Conditions can be appended. */
const READY_REPLICAS = `jsonb_agg(jsonb_build_object('id', id, 'address', address, 'port', port)
                                  order by generation, position) as replicas
       from replicas where desired = 'running' and state = 'ready' and not to_freeze and port is not null`;

/** SQL: verified host names, as JSON; null if there are none. Conditions can be appended. */
const NAMES = `jsonb_agg(jsonb_build_object('hostname', hostname, 'leadsHere', leads_here, 'redirectTo', redirect_to)
                         order by hostname) as names
       from domains where status = 'active' and released_at is null`;

/** SQL: joins the replicas and host names of a few services, by index. */
const JOINS_OF_FEW = `
       left join lateral (
         select ${READY_REPLICAS} and service_id = s.id and deployment_id = s.live_deployment_id) r on true
       left join lateral (select ${NAMES} and service_id = s.id) n on true`;

/** SQL: joins the replicas and host names of all services, by whole tables. That takes 40 % less time for 100,000. */
const JOINS_OF_ALL = `
       left join (select service_id, deployment_id, ${READY_REPLICAS} group by service_id, deployment_id) r
         on r.service_id = s.id and r.deployment_id = s.live_deployment_id
       left join (select service_id, ${NAMES} group by service_id) n on n.service_id = s.id`;

/** SQL: `:serviceIds`, and the ids of the services whose live release went live together with one of these services. */
const AND_THOSE_TOGETHER = `array(
  select id from unnest(cast(:serviceIds as uuid[])) as given(id)
  union
  select t.id from services o
    join deployments mine on mine.id = o.live_deployment_id and mine.together_id is not null
    join deployments theirs on theirs.together_id = mine.together_id
    join services t on t.id = theirs.service_id and t.live_deployment_id = theirs.id
   where o.id = any(cast(:serviceIds as uuid[])))`;

/** SQL: true for a service that exists or was deleted in the last hour, because edges must acknowledge the deletion. */
const KNOWN = `(s.deleted_at is null or s.deleted_at > now() - interval '1 hour')`;

const PAGE = 2_000;

/**
 * Returns the route facts of these services. Rejects after 5 s without a result. Adds services that went live together
 * with one of them, so that an edge never mixes new and old releases.
 */
export async function loadRouteFacts(db: Db, serviceIds: readonly string[]): Promise<RouteFacts[]> {
  const query = db.raw(factsOf(JOINS_OF_FEW, `and s.id = any(${AND_THOSE_TOGETHER})`), { serviceIds: [...serviceIds] });
  const { rows }: { rows: RouteFacts[] } = await query.timeout(QUERY_TIMEOUT_MS);
  return rows;
}

/** Passes the route facts of all services to `take`, from one snapshot. Rejects if a page takes longer than 60 s. */
export async function loadAllRouteFacts(
  db: Db,
  take: (facts: RouteFacts[], trx: Transaction) => Promise<void>,
): Promise<void> {
  const read = async (trx: Transaction) => {
    // With a cursor, PostgreSQL joins whole tables, which takes half the time of pages by id. The setting is needed
    // because PostgreSQL plans a cursor for the first tenth of its rows by default.
    await trx.raw('set local cursor_tuple_fraction = 1');
    await trx.raw(`declare facts no scroll cursor for ${factsOf(JOINS_OF_ALL)}`);
    const page = async () => {
      const result: { rows: RouteFacts[] } = await trx.raw(`fetch ${PAGE} from facts`).timeout(PAGE_TIMEOUT_MS);
      return result.rows;
    };
    for (let facts = await page(); facts.length > 0; ) {
      // PostgreSQL reads the next page while this process takes the current one.
      [facts] = await Promise.all([page(), take(facts, trx)]);
    }
  };
  await db.transaction(read, { isolationLevel: 'repeatable read', readOnly: true });
}

/**
 * Route versions come from a sequence, so a lower one may be committed after a higher one. An edge therefore reads
 * routes again whose versions are up to this much below the newest version that it knows.
 */
export const VERSION_OVERLAP = 5_000;

/** Returns the routes with a version above this one, with their current versions. */
export function routeVersionsSince(db: Db, version: number): Promise<{ serviceId: string; version: number }[]> {
  return rowsOf(
    db,
    `select s.id as "serviceId", s.route_version as version from services s where s.route_version > ? and ${KNOWN}`,
    [version],
  );
}

/** Returns the SQL that reads `RouteFacts`. `which` is appended to its conditions. */
function factsOf(joins: string, which = ''): string {
  return `select s.id as "serviceId", s.slug, s.kind, s.lifecycle_status as "lifecycleStatus",
            s.deleted_at is not null as deleted, s.route_version as version,
            coalesce(s.configuration -> 'ipAllowList', '[]') as "ipAllowList",
            coalesce((s.configuration ->> 'maintenance')::boolean, false) as maintenance,
            case when (s.configuration ->> 'maintenance')::boolean
                 then coalesce(s.configuration ->> 'maintenancePage', '') else '' end as "maintenancePage",
            coalesce((s.configuration ->> 'platformDomainEnabled')::boolean, true) as "platformDomainEnabled",
            s.live_deployment_id as "liveDeploymentId", d.configuration ->> 'cacheProfile' as "cacheProfile",
            i.digest, i.manifest - 'siteRules' as manifest, ${RULES_KEY} as "rulesKey", coalesce(r.replicas, '[]') as replicas, coalesce(n.names, '[]') as domains,
            case when c.deployment_id is not null then jsonb_build_object('deploymentId', c.deployment_id, 'percent', c.percent,
              'replicas', coalesce((select ${READY_REPLICAS} and service_id = c.service_id and deployment_id = c.deployment_id), '[]')) end as canary,
            exists (select from volumes v where v.service_id = s.id and v.removed_at is null) as "hasVolumes", (${MAY_SLEEP} or ${FROZEN}) as sleeps
       from services s
       left join deployments d on d.id = s.live_deployment_id
       left join images i on i.id = d.image_id
       left join service_rules u on u.service_id = s.id
       left join canaries c on c.service_id = s.id and c.ended_at is null
       ${joins}
      where ${KNOWN} ${which}`;
}

export interface EdgeIdentity {
  id: string;
  host: string;
  pid: number;
}

/** The figures that an edge reports: totals since its start, and current numbers. */
export interface EdgeFigures {
  /** Number of open client connections. `requests` is the number of requests in progress on them. */
  connections: number;
  requests: number;
  /** Connections that were upgraded to another protocol, such as WebSocket. */
  upgraded: number;
  /** Requests that were aborted because the edge's own code threw an error. */
  failedExchanges: number;
  /** Connections closed because the client read too slowly, or because they were idle when a limit was reached. */
  closedConnections: number;
  /** Connections that were refused because a limit was reached. */
  refusedConnections: number;
}

/**
 * Records an edge's heartbeat, so that workers wait for its acknowledgements. Returns true if the edge was not recorded
 * before, in which case it must acknowledge all routes again.
 */
export async function reportEdge(db: Db, edge: EdgeIdentity, figures: EdgeFigures): Promise<boolean> {
  const isFresh = await oneValue<boolean>(
    db,
    `with gone as (delete from edges where seen_at < now() - interval '1 hour' and id <> :id)
     insert into edges (id, host, pid, figures) values (:id, :host, :pid, :figures)
     on conflict (id) do update set seen_at = now(), figures = excluded.figures
     returning xmax = 0 as fresh`,
    { ...edge, figures: JSON.stringify(figures) },
  );
  return isFresh ?? false;
}

/** Returns the figures of edges whose last heartbeat is at most 6 s old. */
export async function edgeFigures(db: Db): Promise<{ host: string; pid: number; figures: Partial<EdgeFigures> }[]> {
  return rowsOf(
    db,
    `select host, pid, figures from edges where seen_at > now() - make_interval(secs => ${EDGE_SEEN_SECONDS})`,
  );
}

/** Deletes the record of an edge that is shutting down. */
export async function removeEdge(db: Db, edgeId: string): Promise<void> {
  await db.raw('delete from edges where id = ?', [edgeId]);
}

/**
 * Records the versions at which this edge serves these services. Returns the ids of the services; none if the edge is
 * unknown.
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

/** Records that this edge serves all routes up to `version`. Returns false if the edge is not recorded. */
export function acknowledgeRoutesUpTo(db: Db, edgeId: string, version: number): Promise<boolean> {
  const sql = 'update edges set known_version = greatest(known_version, ?) where id = ?';
  return anyRow(db, sql, [version, edgeId]);
}

/** Returns SQL: true if the edge `e` serves the route of a service at this version or a later one. */
export function servesRoute(service: string, version: string): string {
  return `(e.known_version >= ${version} or exists (select from edge_acknowledgements a
            where a.edge_id = e.id and a.service_id = ${service} and a.version >= ${version}))`;
}

/** SQL: the number of edges whose last heartbeat is at most 6 s old. Conditions on `e` can be appended. */
export const EDGES = `select count(*) from edges e where e.seen_at > now() - interval '${EDGE_SEEN_SECONDS} seconds'`;

const WAITING_EDGES = prepare<{ waiting: number }>(
  `select (${EDGES} and not ${servesRoute('$1', 'wanted.version')}) as waiting
     from (select coalesce(cast($2 as bigint), (select route_version from services where id = $1)) as version) wanted`,
);

/**
 * Returns how many edges do not yet serve the service at `version` or later. At 0, no new request uses an older route.
 * A `version` of null means the service's current version.
 */
export async function waitingEdges(db: Db, serviceId: string, version: number | null): Promise<number> {
  const row = await rowOfPrepared(db, WAITING_EDGES, [serviceId, version]);
  return row?.waiting ?? 0;
}
