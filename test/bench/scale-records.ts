import type { Db } from '../../shared/core/database/database-client.js';

const CHUNK = 50_000;

/** Adds live copies of a static site until the host has this many services. */
export async function addSites(db: Db, liveServiceId: string, services: number): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.raw(
      `create temporary table copies on commit drop as
       select gen_random_uuid() as service_id, gen_random_uuid() as deployment_id, gen_random_uuid() as image_id
         from generate_series(1, cast(:wanted as int) - (select count(*) from services where deleted_at is null))`,
      { wanted: services },
    );
    await trx.raw(
      `insert into services (id, workspace_id, project_id, environment_id, name, slug, kind, configuration)
       select c.service_id, s.workspace_id, s.project_id, s.environment_id, 'copy', 'copy-' || c.service_id, s.kind, s.configuration
         from copies c, services s where s.id = :id`,
      { id: liveServiceId },
    );
    await trx.raw(
      `insert into images (id, workspace_id, service_id, digest, manifest, size_bytes)
       select c.image_id, i.workspace_id, c.service_id, i.digest, i.manifest, i.size_bytes
         from copies c, services s join deployments d on d.id = s.live_deployment_id join images i on i.id = d.image_id
        where s.id = :id`,
      { id: liveServiceId },
    );
    await trx.raw(
      `insert into deployments (id, workspace_id, service_id, status, trigger, actor, branch, configuration, image_id, steps,
                                admitted_at, created_at, started_at, went_live_at, finished_at)
       select c.deployment_id, d.workspace_id, c.service_id, 'live', 'manual', 'bench', d.branch, d.configuration, c.image_id,
              d.steps, now(), now(), now(), now(), now()
         from copies c, services s join deployments d on d.id = s.live_deployment_id where s.id = :id`,
      { id: liveServiceId },
    );
    await trx.raw(
      `update services s
          set live_deployment_id = c.deployment_id, lifecycle_status = 'active', health_status = 'ready',
              health_checked_at = now(), route_version = nextval('route_versions')
         from copies c where s.id = c.service_id`,
    );
  });
  await db.raw('analyze services, deployments, images');
}

/** Adds ended deployments whose images are no longer retained. A tenth of the deployments belong to this service. */
export async function addHistory(db: Db, serviceId: string, count: number): Promise<void> {
  const { rows } = await db.raw(
    `with made as (
       insert into images (id, workspace_id, service_id, digest, manifest, size_bytes, removed_at)
       select gen_random_uuid(), workspace_id, id, 'history', '{}', 1, now() from services where deleted_at is null
       returning id, service_id
     )
     select array_agg(service_id order by service_id = :serviceId) as services,
            array_agg(id order by service_id = :serviceId) as images from made`,
    { serviceId },
  );
  const { services, images } = rows[0] as { services: string[]; images: string[] };
  for (let from = 1; from <= count; from += CHUNK) {
    await db.raw(
      `insert into deployments (id, workspace_id, service_id, status, trigger, actor, configuration, snapshot_id, image_id, steps,
                                admitted_at, created_at, started_at, went_live_at, finished_at)
       select gen_random_uuid(), s.workspace_id, s.id, t.status, 'manual', 'bench', l.configuration, l.snapshot_id,
              case when t.status = 'live' then (cast(:images as uuid[]))[t.place] end, l.steps,
              t.at, t.at, t.at, case when t.status = 'live' then t.at end, t.at
         from (select case when n % 10 = 0 then cast(:count as int) else n % cast(:count as int) + 1 end as place,
                      case when n % 2 = 0 then 'live' else 'failed' end as status, now() - n * interval '2 seconds' as at
                 from generate_series(cast(:from as int), cast(:to as int)) n) t
         join services s on s.id = (cast(:services as uuid[]))[t.place]
         join deployments l on l.id = s.live_deployment_id`,
      { services, images, count: services.length, from, to: Math.min(from + CHUNK - 1, count) },
    );
  }
  await db.raw('vacuum analyze deployments');
  await db.raw('analyze images');
}

/** Adds log lines of 29 days to a service, whose plan keeps them for 30. */
export async function addLines(db: Db, serviceId: string, count: number): Promise<void> {
  const last = 'coalesce((select last_id from log_counters where service_id = cast(:id as uuid)), 0)';
  const { rows } = await db.raw(`select ${last} as last`, { id: serviceId });
  const before = Number((rows[0] as { last: number }).last);
  for (let from = 1; from <= count; from += CHUNK * 10) {
    await db.raw(
      `insert into log_lines (service_id, id, source, level, message, logged_at, expires_on)
       select :id, :before + n, 'runtime', 'info', 'GET /orders/' || n || ' answered 200 in ' || n % 97 || ' ms for ' || md5(n::text),
              t, (t at time zone 'UTC')::date + 31
         from generate_series(cast(:from as int), cast(:to as int)) n
         cross join lateral (select now() - (:count - n) * interval '29 days' / :count) x(t)`,
      { id: serviceId, before, from, to: Math.min(from + CHUNK * 10 - 1, count), count },
    );
  }
  await db.raw(
    `insert into log_counters (service_id, last_id) values (:id, :last)
     on conflict (service_id) do update set last_id = excluded.last_id`,
    { id: serviceId, last: before + count },
  );
  await db.raw('analyze log_lines');
}

/** Adds audit entries, runs, operations and commits of a year of deployments. A tenth belong to this service. */
export async function addYear(db: Db, serviceId: string, count: number): Promise<void> {
  for (let from = 1; from <= count; from += CHUNK) {
    await db.raw(
      `with services_of as (
         select array_agg(id order by id = :serviceId) as ids from services where deleted_at is null
       ), made as materialized (
         select s.*, t.n, t.at
           from (select n, now() - n * interval '30 seconds' as at,
                        case when n % 10 = 0 then cardinality(ids) else n % cardinality(ids) + 1 end as place, ids
                   from generate_series(cast(:from as int), cast(:to as int)) n, services_of) t
           join services s on s.id = t.ids[t.place]
       ), entries as (
         insert into audit_entries (id, workspace_id, actor, user_id, credential, credential_id, operation, path, target_id,
                                    target_name, request_id, created_at)
         select gen_random_uuid(), workspace_id, 'bench', gen_random_uuid(), 'key', gen_random_uuid(), 'service.update',
                '/services/' || id, id, name, gen_random_uuid(), at from made
       ), ran as (
         insert into runs (id, workspace_id, service_id, deployment_id, trigger, max_retries, timeout_seconds, scheduled_at,
                           status, created_at, started_at, finished_at)
         select gen_random_uuid(), workspace_id, id, live_deployment_id, 'manual', 0, 60, at, 'succeeded', at, at, at from made
       ), changed as (
         insert into operations (id, workspace_id, service_id, kind, actor, status, created_at, finished_at)
         select gen_random_uuid(), workspace_id, id, 'restart', 'bench', 'succeeded', at, at from made
       )
       insert into commit_events (id, service_id, kind, actor, outcome, created_at, finished_at)
       select gen_random_uuid(), id, 'push', 'bench', 'skipped', at, at from made`,
      { serviceId, from, to: Math.min(from + CHUNK - 1, count) },
    );
  }
}
