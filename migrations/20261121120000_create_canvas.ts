import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- What people arranged on the canvas, once for each scope; a scope that was never saved has no row.
    create table canvas_layouts (
      -- The environment, else the project, else the workspace that is shown.
      scope_id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      project_id uuid references projects on delete cascade,
      environment_id uuid references environments on delete cascade,
      -- Raised with every save: a save names the revision that it replaces.
      revision bigint not null,
      -- { <node id>: { x, y } }.
      positions jsonb not null,
      -- { x, y, zoom }, or null.
      viewport jsonb,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    -- What refers to a service: the reference edges of a canvas.
    create index variables_references on variables (reference_service_id) where reference_service_id is not null;
    -- What stands in an environment or a project and keeps it from being deleted.
    create index environment_groups_environment on environment_groups (environment_id);
    create index services_project on services (project_id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop index services_project, environment_groups_environment, variables_references;
    drop table canvas_layouts;
  `);
}
