import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Services that show a branch of another service. A row goes when its service is deleted.
    create table previews (
      service_id uuid primary key references services on delete cascade,
      -- The service whose branch is shown, with whose configuration and variables.
      base_id uuid not null references services on delete cascade,
      branch text not null,
      -- When the last deployment was queued. The preview ends some hours after that.
      changed_at timestamptz(3) not null default now(),
      created_at timestamptz(3) not null default now()
    );
    -- A branch has one preview.
    create unique index previews_branch on previews (base_id, branch);

    -- The deployments that a variable reaches: 'all', those of the service itself ('production') or those of its previews ('preview').
    alter table variables add column scope text not null default 'all'
      constraint variables_scope check (scope in ('all', 'production', 'preview'));
  `);
}
