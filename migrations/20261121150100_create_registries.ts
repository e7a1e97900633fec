import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Credentials of a workspace for registries of container images.
    create table registries (
      -- What configuration.registryId names.
      id uuid primary key,
      -- Whose services may use them.
      workspace_id uuid not null references workspaces on delete cascade,
      -- For people; unique in its workspace.
      name text not null,
      -- The registry's host and port, as the names of its images have it: docker.io, registry.example.com:5000.
      server text not null,
      -- The account, or what stands in its place where the password is a token.
      username text not null,
      -- The password or token, sealed and bound to this row's id.
      sealed_password bytea not null,
      -- When they were added.
      created_at timestamptz(3) not null default now(),
      unique (workspace_id, name)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table registries');
}
