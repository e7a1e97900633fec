import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table environment_groups (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      environment_id uuid references environments,
      name text not null,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    create index environment_groups_listing on environment_groups (workspace_id, created_at desc, id desc);
    -- Groups keep their environment from being deleted.
    create index environment_groups_environment on environment_groups (environment_id);

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
      -- A variable has either a sealed value or a reference to a variable or an address of another service.
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
    -- Finds references to a service: the edges of a canvas, and references into an environment that becomes protected.
    create index variables_reference on variables (reference_service_id) where reference_service_id is not null;

    -- The variables that a service had when a deployment was queued. Deployments with equal variables share a row.
    create table snapshots (
      -- The id of the deployment that the row was first made for.
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      -- Keyed hash of the content: equal content is stored once per service. Null if it was never computed.
      digest bytea,
      -- The values, sealed and bound to this row's id. Empty if there are none.
      sealed bytea not null,
      -- Other services and environment groups that values came from.
      provider_ids uuid[] not null default '{}',
      group_ids uuid[] not null default '{}',
      -- True if one of these was in a protected environment, or referred to one, when the values were read.
      read_protected boolean not null default false,
      created_at timestamptz(3) not null default now(),
      unique (service_id, digest)
    );
  `);
}
