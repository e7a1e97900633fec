import { countOf, type Db, returnedRow, rowsOf } from '../core/database/database-client.js';
import { prepare, rowOfPrepared } from '../core/database/prepared.js';
import { WANTED_REPLICAS } from '../services/wanted-replicas.js';
import type { PricedService } from './billing.js';

export interface PlanUsage {
  services: number;
  /** Build minutes since the start of the month (UTC), including those of running builds. */
  buildMinutes: number;
}

export async function planUsage(db: Db, workspaceId: string): Promise<PlanUsage> {
  return { services: await countServices(db, workspaceId), buildMinutes: await buildMinutes(db, workspaceId) };
}

/** Returns the number of the workspace's services, including archived ones. */
export function countServices(db: Db, workspaceId: string): Promise<number> {
  return countOf(db, 'select count(*) from services where workspace_id = ? and deleted_at is null', [workspaceId]);
}

const USED = {
  projects: 'select count(*) as count from projects where workspace_id = ?',
  environments: 'select count(*) as count from environments where project_id = ?',
  groups: 'select count(*) as count from environment_groups where workspace_id = ?',
  domains: 'select count(*) as count from domains where service_id = ? and released_at is null',
  previews: 'select count(*) as count from previews where base_id = ?',
  workspacePreviews: `select count(*) as count from previews p join services s on s.id = p.service_id
    where s.workspace_id = ? and s.deleted_at is null`,
  // Two counts, because waiting deployments and running ones have separate indexes.
  deployments: `select (select count(*) from deployments where workspace_id = w.id and finished_at is null and admitted_at is null)
                     + (select count(*) from deployments where workspace_id = w.id and finished_at is null and admitted_at is not null)
                       as count from workspaces w where w.id = ?`,
} as const;

/** Returns how many objects of the kind `what` the workspace, project or service has. Excludes finished deployments. */
export function countUsed(db: Db, what: keyof typeof USED, ownerId: string): Promise<number> {
  return countOf(db, USED[what], [ownerId]);
}

const BUILD_MINUTES = prepare<{ minutes: number }>(
  `with month as (select date_trunc('month', now(), 'UTC') as start),
   running as (
     select (select (step ->> 'startedAt')::timestamptz from jsonb_array_elements(d.steps) with ordinality as s(step, place)
              where step ->> 'name' = 'build' order by place desc limit 1) as started
       from deployments d where d.workspace_id = $1 and d.finished_at is null and d.admitted_at is not null and d.status = 'building'
   )
   select (coalesce((select seconds from build_times t
                      where t.workspace_id = $1
                        and t.month = (month.start at time zone 'UTC')::date), 0)
           + coalesce((select sum(extract(epoch from now() - greatest(started, month.start))) from running where started is not null), 0))::float8 / 60 as minutes
     from month`,
);

/** Returns a workspace's build minutes in this month (UTC), including those of deleted services. */
export async function buildMinutes(db: Db, workspaceId: string): Promise<number> {
  return returnedRow(await rowOfPrepared(db, BUILD_MINUTES, [workspaceId])).minutes;
}

export type PricedServiceRow = PricedService & { id: string };

/** Returns the services that determine the estimated cost. Archived services count while they have a live release. */
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

/** Returns the live release's plan and the wanted replicas; an empty list if there is no live release. */
export function runningServices(db: Db, service: { id: string }): Promise<PricedService[]> {
  return rowsOf<PricedService>(
    db,
    `select s.kind, d.configuration ->> 'plan' as plan, ${WANTED_REPLICAS} as replicas
       from services s join deployments d on d.id = s.live_deployment_id
      where s.id = ?`,
    [service.id],
  );
}
