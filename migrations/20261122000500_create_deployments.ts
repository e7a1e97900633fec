import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table deployments (
      id uuid primary key,
      -- The order of arrival across all workspaces. Admission follows it.
      number bigint generated always as identity unique,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      status text not null default 'queued',
      trigger text not null,
      actor text not null,
      branch text not null default '',
      -- The requested commit, then the commit that was found.
      commit_sha text not null default '',
      commit_message text not null default '',
      clear_cache boolean not null default false,
      blocked_reason text not null default '',
      error text not null default '',
      cancel_requested_at timestamptz(3),
      source_deployment_id uuid references deployments on delete set null,
      -- The configuration, repository and variables at the time of the request. A rollback takes those of its source.
      configuration jsonb not null,
      -- The service's sealed repository, sealed again for this row.
      sealed_repository bytea,
      -- Null if the snapshot was erased: the deployment has ended and cannot be the source of a rollback.
      snapshot_id uuid references snapshots on delete set null,
      image_id uuid constraint deployments_image references images,
      steps jsonb not null default '[]',
      admitted_at timestamptz(3),
      went_live_at timestamptz(3),
      -- Every claim raises the fence. Every later write of that worker names it, and does nothing if it has been raised.
      fence bigint not null default 0,
      worker_id uuid,
      lease_expires_at timestamptz(3),
      -- How often the running step was claimed after its lease had expired.
      takeovers integer not null default 0,
      -- How often a worker is known to have hung or crashed in the running step. A takeover does not tell its cause.
      worker_faults integer not null default 0,
      -- When the record needs a job; null if it needs none.
      due_at timestamptz(3),
      -- How many jobs were made for this record. The number is part of the job's id.
      dispatches integer not null default 0,
      idempotency_key text,
      idempotency_scope text,
      created_at timestamptz(3) not null default now(),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      updated_at timestamptz(3) not null default now(),
      -- Open means that it has no end: queries ask for finished_at and name no state.
      constraint deployments_end check ((finished_at is not null) = (status in ('live', 'failed', 'cancelled')))
    );
    -- Lists the deployments of a service, newest first.
    create index deployments_listing on deployments (service_id, created_at desc, id desc);
    -- Admission and the sweeps read only open deployments.
    create index deployments_open on deployments (number) where finished_at is null;
    -- Counts the open deployments of a workspace.
    create index deployments_open_workspace on deployments (workspace_id) where finished_at is null;
    -- The dispatcher takes records that are due.
    create index deployments_due on deployments (due_at) where due_at is not null;
    -- Admission serves the workspace whose last admission is the longest ago.
    create index deployments_turns on deployments (workspace_id, admitted_at desc) where admitted_at is not null;
    -- Finds the rollbacks of a deployment that is removed.
    create index deployments_source on deployments (source_deployment_id) where source_deployment_id is not null;
    create index deployments_snapshot on deployments (snapshot_id) where snapshot_id is not null;
    -- Adds up the build time of a workspace in a month, which its plan limits.
    create index deployments_build_time on deployments (workspace_id, finished_at);
    -- A deployment keeps its idempotency key for good (idempotency_legacy_conflict).
    create unique index deployments_idempotency on deployments (idempotency_scope, idempotency_key)
      where idempotency_key is not null;

    -- The two tables refer to each other, so one of the constraints is added afterwards.
    alter table services add constraint services_live_deployment
      foreign key (live_deployment_id) references deployments;
  `);
}
