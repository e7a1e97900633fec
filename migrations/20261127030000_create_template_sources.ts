import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Repositories with a workspace's own templates. A worker reads them when they are added and when somebody asks for it.
    create table template_sources (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      -- The first part of the names of its templates.
      name text not null,
      -- The address, which may contain credentials.
      sealed_repository bytea not null,
      branch text not null,
      -- The last commit that was read, with its templates (name, facts and text) and the files that are none.
      commit_sha text,
      templates jsonb not null default '[]',
      problems jsonb not null default '[]',
      -- Why the last reading failed. The templates of the one before stay.
      error text not null default '',
      read_at timestamptz(3),
      -- The job, as in detections. Null while a worker is to read the repository.
      finished_at timestamptz(3),
      due_at timestamptz,
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      unique (workspace_id, name)
    );
    create index template_sources_due on template_sources (due_at) where due_at is not null;
    create index template_sources_open on template_sources (created_at) where finished_at is null;
  `);
}
