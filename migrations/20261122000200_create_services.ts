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
      -- The complete address of the repository if it contains a secret, sealed. The configuration has asterisks instead.
      sealed_repository bytea,
      archived boolean not null default false,
      lifecycle_status text not null default 'draft',
      health_status text not null default 'unknown',
      health_checked_at timestamptz(3),
      runtime_detail text not null default '',
      live_deployment_id uuid,
      -- Raised by every change of the service's route. An edge acknowledges the version that it has applied.
      route_version bigint not null default 0,
      -- Selects the unprivileged user that builds and runs this service if the platform runs as root.
      user_number integer generated always as identity,
      deletion_requested_at timestamptz(3),
      deleted_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      check ((project_id is null) = (environment_id is null))
    );
    -- Lists the services of a workspace, newest first.
    create index services_listing on services (workspace_id, created_at desc, id desc) where deleted_at is null;
    -- Finds the service of a host, and keeps slugs unique.
    create unique index services_slug on services (slug) where deleted_at is null;
    -- Finds the slugs of deleted services. Other workspaces cannot take such a slug for some time.
    create index services_released_slug on services (slug, deleted_at) where deleted_at is not null;
    -- Services keep their environment and their project from being deleted.
    create index services_environment on services (environment_id) where deleted_at is null;
    create index services_project on services (project_id);
  `);
}
