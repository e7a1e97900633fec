import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table log_lines rename to log_lines_before;
    alter table log_lines_before rename constraint log_lines_pkey to log_lines_before_pkey;
    drop index log_lines_age;
    alter index log_lines_deployment rename to log_lines_before_deployment;

    -- A service's log. A line's id is given with its insertion by one statement that raises log_counters.last_id, so an id
    -- is given once; the primary key alone shows that only within a partition, because it has to name the partition's day.
    -- There is no reference to services: it would cost a check for each line, and a lock of services for each dropped day.
    create table log_lines (
      service_id uuid not null,
      id bigint not null,
      deployment_id uuid,
      source text not null,
      level text not null,
      message text not null,
      logged_at timestamptz(3) not null,
      -- The day (UTC) on which the line expires by the plan that its service had. The lines of a day are dropped together.
      expires_on date not null default ((now() at time zone 'UTC')::date + 31),
      primary key (service_id, id, expires_on)
    ) partition by range (expires_on);
    -- Reads the lines of one deployment.
    create index log_lines_deployment on log_lines (service_id, deployment_id, id);

    -- Lines of a day that has no partition yet. Ordinarily it is empty: days are made ahead.
    create table log_lines_other partition of log_lines default;

    do $$
    declare
      today date := (now() at time zone 'UTC')::date;
    begin
      for n in 0..33 loop
        execute format('create table log_lines_%s partition of log_lines for values from (%L) to (%L)',
                       to_char(today + n, 'YYYYMMDD'), today + n, today + n + 1);
      end loop;
    end $$;

    insert into log_lines (service_id, id, deployment_id, source, level, message, logged_at, expires_on)
    select l.service_id, l.id, l.deployment_id, l.source, l.level, l.message, l.logged_at,
           (l.logged_at at time zone 'UTC')::date + 1 + case s.configuration ->> 'plan'
             when 'free' then 1 when 'starter' then 7 when 'standard' then 14 else 30 end
      from log_lines_before l join services s on s.id = l.service_id;
    drop table log_lines_before;
  `);
}
