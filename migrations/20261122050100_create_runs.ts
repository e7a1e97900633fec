import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- When each cron service that may run has its next tick. A row exists only while the service may run.
    create table schedules (
      service_id uuid primary key references services on delete cascade,
      -- The service's configuration at the time when the next tick was computed. A difference makes it computed again.
      expression text not null,
      timezone text not null,
      -- Null if the schedule has no further tick.
      next_run_at timestamptz(3),
      -- The database's time when the next tick was computed. A time in the future means that the clock went back.
      planned_at timestamptz(3) not null default now()
    );
    create index schedules_due on schedules (next_run_at);
    -- The sweep compares the cron services with their schedules.
    create index services_cron on services (id) where kind = 'cron' and deleted_at is null;

    create table runs (
      id uuid primary key,
      number integer generated always as identity unique,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      -- The release that was live at the tick.
      deployment_id uuid not null references deployments on delete cascade,
      trigger text not null,
      actor text not null default '',
      status text not null default 'queued',
      attempt integer not null default 1,
      -- The service's configuration at the tick.
      max_retries integer not null,
      timeout_seconds integer not null,
      -- The tick; for a manual run the time of the request.
      scheduled_at timestamptz(3) not null,
      -- The back-off before the next attempt ends at this time.
      not_before timestamptz(3) not null default now(),
      exit_code integer,
      error text not null default '',
      cancel_requested_at timestamptz(3),
      -- Admission, the lease and the job, as in deployments.
      admitted_at timestamptz(3),
      fence bigint not null default 0,
      worker_id uuid,
      lease_expires_at timestamptz(3),
      due_at timestamptz(3),
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now(),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      updated_at timestamptz(3) not null default now(),
      constraint runs_end check ((finished_at is not null) = (status in ('succeeded', 'failed', 'cancelled', 'skipped')))
    );
    -- One run for each tick, however many workers see it.
    create unique index runs_tick on runs (service_id, scheduled_at) where trigger = 'schedule';
    create index runs_listing on runs (service_id, created_at desc, id desc);
    -- Admission and the sweeps read only open runs.
    create index runs_open on runs (created_at) where finished_at is null;
    create index runs_open_service on runs (service_id) where finished_at is null;
    create index runs_due on runs (due_at) where due_at is not null;
    -- Retention deletes old runs.
    create index runs_age on runs (finished_at);

    -- Each attempt of a run is a replica that ends by itself: the host supervises it as it supervises the others.
    alter table replicas
      add column run_id uuid references runs on delete cascade,
      add column run_attempt integer,
      -- How the attempt's command exited; null if it did not exit by itself.
      add column exit_code integer;
    create unique index replicas_run on replicas (run_id, run_attempt) where run_id is not null;

    -- How many runs the worker carries out at a time.
    alter table workers add column run_slots integer not null default 0;
  `);
}
