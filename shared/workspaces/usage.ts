import { type Db, rowsOf } from '../core/database/client.js';
import { WANTED_REPLICAS } from '../services/wanted-replicas.js';
import type { PricedService } from './billing.js';

/** A workspace's usage of its plan. */
export interface PlanUsage {
  services: number;
  /** Since the month began (UTC), builds under way included. */
  buildMinutes: number;
}

export async function planUsage(db: Db, workspaceId: string): Promise<PlanUsage> {
  return { services: await countServices(db, workspaceId), buildMinutes: await buildMinutes(db, workspaceId) };
}

/** How many services the workspace has, archived ones included. */
export async function countServices(db: Db, workspaceId: string): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    db,
    'select count(*) as count from services where workspace_id = ? and deleted_at is null',
    [workspaceId],
  );
  return row?.count ?? 0;
}

const USED = {
  projects: 'select count(*) as count from projects where workspace_id = ?',
  environments: 'select count(*) as count from environments where project_id = ?',
  groups: 'select count(*) as count from environment_groups where workspace_id = ?',
  domains: 'select count(*) as count from domains where service_id = ? and released_at is null',
  previews: 'select count(*) as count from previews where base_id = ?',
  workspacePreviews: `select count(*) as count from previews p join services s on s.id = p.service_id
    where s.workspace_id = ? and s.deleted_at is null`,
  deployments: 'select count(*) as count from deployments where workspace_id = ? and finished_at is null',
} as const;

/**
 * How many of these the owner has: a workspace, a project (environments) or a service (domains, previews). Deployments that have
 * ended do not count.
 */
export async function countUsed(db: Db, what: keyof typeof USED, ownerId: string): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(db, USED[what], [ownerId]);
  return row?.count ?? 0;
}

/** How long the workspace's builds have run since the month began (UTC), those of deleted services included. */
export async function buildMinutes(db: Db, workspaceId: string): Promise<number> {
  const [row] = await rowsOf<{ minutes: number }>(
    db,
    `with month as (select date_trunc('month', now(), 'UTC') as start),
     builds as (
       select (step ->> 'startedAt')::timestamptz as started,
              coalesce((step ->> 'finishedAt')::timestamptz, d.finished_at, now()) as finished
         from month, deployments d cross join jsonb_array_elements(d.steps) as s(step)
        where d.workspace_id = ? and (d.finished_at is null or d.finished_at >= month.start)
          and step ->> 'name' = 'build'
     )
     select coalesce(sum(extract(epoch from finished - greatest(started, month.start))), 0)::float8 / 60 as minutes
       from builds, month where finished > month.start`,
    [workspaceId],
  );
  return row?.minutes ?? 0;
}

export type PricedServiceRow = PricedService & { id: string };

/**
 * The services that the estimate of a workspace's costs is made of. Archived ones count while a release of theirs runs:
 * archiving stops nothing. Services that are deleted, or being deleted, do not.
 */
export async function pricedServices(db: Db, workspaceId: string): Promise<PricedServiceRow[]> {
  return rowsOf<PricedServiceRow>(
    db,
    `select id, kind, configuration ->> 'plan' as plan, ${WANTED_REPLICAS} as replicas
       from services s
      where workspace_id = ? and deleted_at is null and lifecycle_status <> 'deleting'
        and (not archived or live_deployment_id is not null)`,
    [workspaceId],
  );
}
