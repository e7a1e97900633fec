import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- How long the builds of a workspace that have ended ran in each month (UTC). The statement that ends a build adds to it,
    -- so it is right after a crash, and nobody has to read the deployments of a month.
    create table build_times (
      workspace_id uuid not null references workspaces on delete cascade,
      -- The first day of the month.
      month date not null,
      seconds double precision not null,
      primary key (workspace_id, month)
    ) with (fillfactor = 70);

    -- A build that runs over the end of a month counts in both.
    create function seconds_of_months(started timestamptz, finished timestamptz)
      returns table (month date, seconds double precision) language sql stable as $$
      select begins::date,
             extract(epoch from least(finished, (begins + interval '1 month') at time zone 'UTC')
                              - greatest(started, begins at time zone 'UTC'))::float8
        from generate_series(date_trunc('month', started at time zone 'UTC'), finished at time zone 'UTC', interval '1 month') as begins
       where finished > started
    $$;

    create function count_build_time() returns trigger language plpgsql as $$
    begin
      insert into build_times as t (workspace_id, month, seconds)
      select new.workspace_id, m.month, m.seconds
        from (select (step ->> 'startedAt')::timestamptz as started, (step ->> 'finishedAt')::timestamptz as finished
                from jsonb_array_elements(new.steps) with ordinality as s(step, place)
               where step ->> 'name' = 'build' order by place desc limit 1) build,
             seconds_of_months(build.started, build.finished) m
       where build.finished is not null
       order by m.month
      on conflict (workspace_id, month) do update set seconds = t.seconds + excluded.seconds;
      return null;
    end $$;
    create trigger deployments_build_ended after update of status on deployments
      for each row when (old.status = 'building' and new.status <> 'building') execute function count_build_time();

    insert into build_times (workspace_id, month, seconds)
    select d.workspace_id, m.month, sum(m.seconds)
      from deployments d cross join jsonb_array_elements(d.steps) as s(step),
           seconds_of_months((step ->> 'startedAt')::timestamptz, coalesce((step ->> 'finishedAt')::timestamptz, d.finished_at)) m
     where (d.finished_at is null or d.finished_at >= date_trunc('month', now(), 'UTC'))
       and step ->> 'name' = 'build' and coalesce((step ->> 'finishedAt')::timestamptz, d.finished_at) is not null
     group by d.workspace_id, m.month;
  `);
}
