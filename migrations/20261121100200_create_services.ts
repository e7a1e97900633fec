import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table services (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      project_id uuid references projects,
      environment_id uuid references environments,
      name text not null,
      slug text not null,
      kind text not null,
      configuration jsonb not null,
      archived boolean not null default false,
      lifecycle_status text not null default 'draft',
      health_status text not null default 'unknown',
      health_checked_at timestamptz(3),
      runtime_detail text not null default '',
      live_deployment_id uuid,
      -- Raised with every change of what the edge must serve; an edge acknowledges the version it has applied.
      route_version bigint not null default 0,
      -- The unprivileged user that builds and runs this service on hosts where the platform is root.
      user_number integer generated always as identity,
      deletion_requested_at timestamptz(3),
      deleted_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      check ((project_id is null) = (environment_id is null))
    );
    -- The list of a workspace's services, newest first.
    create index services_listing on services (workspace_id, created_at desc, id desc) where deleted_at is null;
    -- The edge's lookup of a host, and the proof that a slug is free.
    create unique index services_slug on services (slug) where deleted_at is null;
    create index services_environment on services (environment_id) where deleted_at is null;

    create table environment_groups (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      environment_id uuid references environments,
      name text not null,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    create index environment_groups_listing on environment_groups (workspace_id, created_at desc, id desc);

    create table environment_group_services (
      group_id uuid not null references environment_groups on delete cascade,
      service_id uuid not null references services on delete cascade,
      created_at timestamptz(3) not null default now(),
      primary key (group_id, service_id)
    );
    create index environment_group_services_service on environment_group_services (service_id);

    create table variables (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid references services on delete cascade,
      group_id uuid references environment_groups on delete cascade,
      key text not null,
      -- Either a sealed value or a reference to what another service has or offers.
      sealed bytea,
      reference_service_id uuid references services on delete cascade,
      reference_key text,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      check ((service_id is null) <> (group_id is null)),
      check ((sealed is null) = (reference_service_id is not null)),
      check ((reference_service_id is null) = (reference_key is null)),
      unique (service_id, key),
      unique (group_id, key)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table variables, environment_group_services, environment_groups, services');
}
