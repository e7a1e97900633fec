import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Addresses to which the servers of repositories report pushes, and deploy hooks.
    create table hooks (
      -- Random: it is part of an address that strangers can call.
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      provider text not null,
      -- What signs a delivery; for a deploy hook, what its address ends with.
      sealed_secret bytea not null,
      created_at timestamptz(3) not null default now(),
      -- The last delivery with a right signature, and what came of it.
      delivered_at timestamptz(3),
      outcome text not null default ''
    );
    create index hooks_service on hooks (service_id, created_at desc, id desc);

    -- Reports that a branch may have a new commit. A worker compares them with the repository; rows are kept for a week.
    create table commit_events (
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      -- Null for what polling has found.
      hook_id uuid references hooks on delete set null,
      -- The number that the sender gave the delivery; a second one with the same is ignored.
      delivery_id text,
      -- 'push', or 'deploy' for a deploy hook.
      kind text not null,
      branch text not null default '',
      before_sha text not null default '',
      after_sha text not null default '',
      actor text not null,
      -- What came of it.
      outcome text not null default '',
      deployment_id uuid references deployments on delete set null,
      due_at timestamptz(3),
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now(),
      finished_at timestamptz(3)
    );
    create unique index commit_events_delivery on commit_events (hook_id, delivery_id) where delivery_id is not null;
    create index commit_events_due on commit_events (due_at) where due_at is not null;
    create index commit_events_open on commit_events (created_at) where finished_at is null;
    create index commit_events_service on commit_events (service_id);
    create index commit_events_age on commit_events (finished_at);

    -- The newest commit of a branch that was looked at, deployed or not.
    create table commit_heads (
      service_id uuid not null references services on delete cascade,
      branch text not null,
      commit_sha text not null,
      updated_at timestamptz(3) not null default now(),
      primary key (service_id, branch)
    );

    -- Repositories that are polled. Services with the same address share one.
    create table polled_repositories (
      -- A keyed digest of the whole address, which may contain credentials.
      fingerprint bytea primary key,
      next_at timestamptz(3) not null,
      polled_at timestamptz(3),
      polls bigint not null default 0,
      -- In a row.
      failures integer not null default 0,
      error text not null default ''
    );
    create index polled_repositories_due on polled_repositories (next_at);

    -- Services with autoDeploy 'commit', and the repository of each.
    create table commit_watches (
      service_id uuid primary key references services on delete cascade,
      fingerprint bytea not null,
      -- The state of the service at which the address was read.
      synced_at timestamptz(3) not null
    );
    create index commit_watches_repository on commit_watches (fingerprint);
    create index services_auto_deploy on services (id)
      where configuration ->> 'autoDeploy' = 'commit' and deleted_at is null;
  `);
}
