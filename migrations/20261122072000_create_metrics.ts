import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The last measurement of each replica: what scaling decides by. Workers write it every METRICS_SECONDS. It is worth nothing
    -- after a crash of the database, so it needs no write-ahead log.
    create unlogged table replica_samples (
      replica_id uuid primary key,
      service_id uuid not null,
      -- The attempt that was measured (replicas.restarts).
      attempt integer not null,
      -- Per cent of what the release's plan has.
      cpu real not null,
      memory real not null,
      sampled_at timestamptz(3) not null default now()
    );
    create index replica_samples_age on replica_samples (sampled_at);

    -- What a service used and answered, by steps of 15 seconds (kept for 3 hours), 5 minutes (3 days) and an hour (31 days). There is
    -- no reference to services: retention removes the rows of a deleted one.
    create table service_metrics (
      service_id uuid not null,
      -- Seconds.
      step smallint not null,
      -- When the step begins.
      at timestamptz(0) not null,
      -- How often the replicas were counted, and the sum of the ready ones that were counted.
      counts integer not null default 0,
      replicas integer not null default 0,
      -- How many measurements of replicas there are, and their sums in per cent of the plan.
      samples integer not null default 0,
      cpu real not null default 0,
      memory real not null default 0,
      -- Answers of the edges by the class of their status, and the bytes sent for them.
      requests_2xx bigint not null default 0,
      requests_3xx bigint not null default 0,
      requests_4xx bigint not null default 0,
      requests_5xx bigint not null default 0,
      bytes_out bigint not null default 0,
      -- How many answers took as long as each of LATENCY_BOUNDS (shared/metrics/model.ts) says; null without answers.
      latency integer[],
      primary key (service_id, step, at)
    ) with (autovacuum_vacuum_scale_factor = 0.05);
    -- Roll-ups and retention go by time.
    create index service_metrics_age on service_metrics (step, at);

    -- Up to when the steps of each length are made from the shorter ones.
    create table metric_rollups (
      step smallint primary key,
      done_until timestamptz(0) not null
    );

    alter table workers
      -- Whether the worker can measure what replicas use.
      add column measures_usage boolean not null default false;

    create function add_counts(a integer[], b integer[]) returns integer[] language sql immutable parallel safe as $$
      select case when a is null then b when b is null then a
             else (select array_agg(coalesce(x, 0) + coalesce(y, 0) order by n) from unnest(a, b) with ordinality as t (x, y, n)) end
    $$;
    create aggregate sum_counts (integer[]) (sfunc = add_counts, stype = integer[]);
  `);
}
