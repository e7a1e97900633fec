import { type Db, returnedRow, rowsOf } from '../../shared/core/database/database-client.js';
import { prepare, rowOfPrepared } from '../../shared/core/database/prepared.js';
import { ASLEEP } from '../../shared/services/wanted-replicas.js';

/** SQL: the replicas `r` of releases that are neither live nor being deployed. */
const STALE = `replicas r
       join deployments d on d.id = r.deployment_id
      where r.state <> 'stopped' and r.run_id is null
        and not exists (select from services s where s.live_deployment_id = r.deployment_id)
        and d.finished_at is not null`;

/** Returns releases that have replicas and should have none. */
export async function staleReleases(db: Db): Promise<{ deploymentId: string; serviceId: string }[]> {
  return rowsOf(db, `select distinct r.deployment_id as "deploymentId", r.service_id as "serviceId" from ${STALE}`);
}

/** The releases of a service that have replicas and should have none, and the number of its images. */
export interface LeftBehind {
  stale: string[];
  images: number;
}

/** Returns SQL for the `LeftBehind` of a service, as JSON. */
export function leftBehindSql(serviceId: string): string {
  return `select jsonb_build_object(
    'stale', array(select distinct r.deployment_id from ${STALE} and r.service_id = ${serviceId}),
    'images', (select count(*) from images i where i.service_id = ${serviceId} and i.removed_at is null))`;
}

const LEFT_BEHIND = prepare<{ left: LeftBehind }>(`select (${leftBehindSql('$1')}) as left`);

/** Returns the stale releases and the number of images of a service. */
export async function leftBehind(db: Db, serviceId: string): Promise<LeftBehind> {
  return returnedRow(await rowOfPrepared(db, LEFT_BEHIND, [serviceId])).left;
}

/** Returns true if another release of the service is being deployed and may use the service's volume. */
export async function isReleasing(db: Db, serviceId: string, exceptId: string): Promise<boolean> {
  const rows = await rowsOf(
    db,
    `select 1 from replicas r join deployments d on d.id = r.deployment_id
      where r.service_id = ? and r.deployment_id <> ? and r.state <> 'stopped' and d.finished_at is null limit 1`,
    [serviceId, exceptId],
  );
  return rows.length > 0;
}

/** Returns true if a release is live or being deployed. Only such a release may use the volume of its service. */
export async function isCurrentRelease(db: Db, deploymentId: string): Promise<boolean> {
  const rows = await rowsOf(
    db,
    `select 1 from deployments d join services s on s.id = d.service_id
      where d.id = ? and (d.finished_at is null or s.live_deployment_id = d.id)`,
    [deploymentId],
  );
  return rows.length > 0;
}

/** Returns the deployment ids of a service's releases that have replicas. Replicas of runs do not count. */
export async function runningReleases(db: Db, serviceId: string): Promise<string[]> {
  const rows = await rowsOf<{ deployment_id: string }>(
    db,
    `select distinct deployment_id from replicas where service_id = ? and state <> 'stopped' and run_id is null`,
    [serviceId],
  );
  return rows.map((row) => row.deployment_id);
}

/**
 * SQL: live releases `d` of services `s` for which no replica is requested, so that no supervisor starts them. Leaves
 * out services that sleep, have an open operation, or have a volume that is in use or that a deployment is about to
 * use.
 */
const WITHOUT_REPLICAS = `services s
       join deployments d on d.id = s.live_deployment_id
       join images i on i.id = d.image_id
      where s.lifecycle_status = 'active' and s.deleted_at is null and i.manifest ->> 'type' = 'process' and s.kind <> 'cron' and not ${ASLEEP}
        and not exists (select 1 from replicas r
                         where r.deployment_id = d.id and r.run_id is null and r.desired = 'running' and r.state <> 'stopped')
        and not exists (select 1 from operations o where o.service_id = s.id and o.finished_at is null)
        and not exists (select 1 from data_servers v
                         where v.id = s.id
                           and (v.held_until >= now()
                                or exists (select 1 from deployments n where n.service_id = s.id and n.finished_at is null
                                              and n.admitted_at is not null)
                                or exists (select 1 from replicas r where r.volume_id = v.id and r.state <> 'stopped')))
        and not (exists (select from volumes v where v.service_id = s.id and v.removed_at is null)
                 and (exists (select from deployments n where n.service_id = s.id and n.finished_at is null and n.admitted_at is not null)
                      or exists (select from replicas r where r.volume_id = s.id and r.state <> 'stopped')))`;

/** Records which live releases have no replicas, for the hosts that may start them (`releasesToStart`). */
export async function recordReleasesToStart(db: Db): Promise<void> {
  await db.raw(
    // The first step is fast: it reads only indexes and the small rows of replicas.
    `with bare as materialized (
       select s.live_deployment_id as id from services s
        where s.live_deployment_id is not null and not exists (select from replicas r
          where r.deployment_id = s.live_deployment_id and r.run_id is null and r.desired = 'running' and r.state <> 'stopped')),
          found as materialized (select d.id from bare cross join ${WITHOUT_REPLICAS} and s.live_deployment_id = bare.id),
          started as (delete from releases_to_start where deployment_id not in (select id from found))
     insert into releases_to_start select id from found on conflict do nothing`,
  );
}

/** Returns the recorded releases that still have no replicas. */
export async function releasesToStart(db: Db): Promise<{ deploymentId: string; serviceId: string }[]> {
  return rowsOf(
    db,
    `select s.live_deployment_id as "deploymentId", s.id as "serviceId"
       from ${WITHOUT_REPLICAS} and d.id = any(array(select deployment_id from releases_to_start))`,
  );
}
