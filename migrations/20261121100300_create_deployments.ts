import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table deployments (
      id uuid primary key,
      -- The order of arrival, over all workspaces: admission goes by it.
      number bigint generated always as identity unique,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      status text not null default 'queued',
      trigger text not null,
      actor text not null,
      branch text not null default '',
      -- The commit that was asked for, and then the one that was found.
      commit_sha text not null default '',
      commit_message text not null default '',
      clear_cache boolean not null default false,
      blocked_reason text not null default '',
      error text not null default '',
      cancel_requested_at timestamptz(3),
      source_deployment_id uuid references deployments on delete set null,
      -- What the service was at the time of the request; a rollback takes its source's.
      configuration jsonb not null,
      sealed_variables bytea not null,
      image_id uuid,
      steps jsonb not null default '[]',
      admitted_at timestamptz(3),
      went_live_at timestamptz(3),
      -- Fencing: every claim raises the fence, and every later write of that worker names it.
      fence bigint not null default 0,
      worker_id uuid,
      lease_expires_at timestamptz(3),
      -- How often a job was made for this record; the number is part of the job's id.
      dispatches integer not null default 0,
      idempotency_key text,
      idempotency_scope text,
      created_at timestamptz(3) not null default now(),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      updated_at timestamptz(3) not null default now()
    );
    -- A service's deployments, newest first, and its latest one.
    create index deployments_listing on deployments (service_id, created_at desc, id desc);
    -- What admission and the reconciler look at: only what has not ended.
    create index deployments_open on deployments (number) where status in ('queued', 'building', 'releasing');
    -- A deployment keeps its key for good (idempotency_legacy_conflict).
    create unique index deployments_idempotency on deployments (idempotency_scope, idempotency_key)
      where idempotency_key is not null;

    create table images (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      -- sha256 of the content; equal content is stored once on a host.
      digest text not null,
      -- What the builder found out: how to start it, which runtime, or what to publish.
      manifest jsonb not null,
      size_bytes bigint not null,
      created_at timestamptz(3) not null default now(),
      removed_at timestamptz(3)
    );
    -- Retention keeps the newest images of a service.
    create index images_retention on images (service_id, created_at desc) where removed_at is null;

    alter table deployments add constraint deployments_image foreign key (image_id) references images;
    alter table services add constraint services_live_deployment
      foreign key (live_deployment_id) references deployments;

    create table operations (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      kind text not null,
      status text not null default 'queued',
      actor text not null,
      error text not null default '',
      fence bigint not null default 0,
      worker_id uuid,
      lease_expires_at timestamptz(3),
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      finished_at timestamptz(3)
    );
    create index operations_listing on operations (service_id, created_at desc, id desc);
    create index operations_open on operations (created_at) where status in ('queued', 'running');

    create table outbox (
      id bigint generated always as identity primary key,
      queue text not null,
      record_id uuid not null,
      dispatch integer not null,
      payload jsonb not null,
      not_before timestamptz(3) not null default now(),
      created_at timestamptz(3) not null default now()
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table services drop constraint services_live_deployment;
    drop table outbox, operations, deployments, images;
  `);
}
