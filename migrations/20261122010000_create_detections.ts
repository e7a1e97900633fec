import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Questions of what a deployment of a repository would do. A worker answers them; rows are deleted within the hour.
    create table detections (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      -- The address, which may contain credentials.
      sealed_repository bytea not null,
      branch text not null,
      root_directory text not null,
      -- The answer, once there is one. If the repository cannot be used, error says why.
      result jsonb,
      error text,
      finished_at timestamptz(3),
      -- The job, as in deployments.
      due_at timestamptz(3),
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now()
    );
    -- Counts what a workspace has under way.
    create index detections_open on detections (workspace_id) where finished_at is null;
    create index detections_due on detections (due_at) where due_at is not null;
    -- Retention.
    create index detections_age on detections (created_at);
  `);
}
