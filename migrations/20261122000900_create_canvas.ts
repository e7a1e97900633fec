import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The arrangement of a canvas, one row per scope. A scope that was never saved has no row.
    create table canvas_layouts (
      -- The environment that is shown, else the project, else the workspace.
      scope_id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      project_id uuid references projects on delete cascade,
      environment_id uuid references environments on delete cascade,
      -- Raised by every save. A save names the revision that it replaces.
      revision bigint not null,
      -- { <node id>: { x, y } }.
      positions jsonb not null,
      -- { x, y, zoom }, or null.
      viewport jsonb,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
  `);
}
