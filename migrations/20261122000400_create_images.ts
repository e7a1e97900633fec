import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table images (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      -- sha256 of the content. A host stores equal content once.
      digest text not null,
      -- What the builder found: the runtime and the start command, or the folder to publish.
      manifest jsonb not null,
      size_bytes bigint not null,
      created_at timestamptz(3) not null default now(),
      removed_at timestamptz(3)
    );
    -- Retention keeps the newest images of a service.
    create index images_retention on images (service_id, created_at desc) where removed_at is null;

    -- Credentials of a workspace for registries of container images.
    create table registries (
      -- The id that configuration.registryId refers to.
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      -- A name for people.
      name text not null,
      -- The host and port as image names contain them: docker.io, registry.example.com:5000.
      server text not null,
      -- The account, or the name that the registry expects with a token.
      username text not null,
      -- The password or token, sealed and bound to this row's id.
      sealed_password bytea not null,
      created_at timestamptz(3) not null default now(),
      unique (workspace_id, name)
    );
  `);
}
