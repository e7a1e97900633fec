import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The key pair with which a workspace's private repositories are read over SSH.
    create table deploy_keys (
      id uuid primary key,
      workspace_id uuid not null unique references workspaces on delete cascade,
      public_key text not null,
      -- In OpenSSH's format.
      sealed_private_key bytea not null,
      created_at timestamptz(3) not null default now()
    );

    -- The keys of SSH servers, as they were when the workspace used each for the first time. Other keys are refused from then on.
    create table ssh_hosts (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      -- As in known_hosts: the name, or [name]:port.
      host text not null,
      -- One key a line: its type, and the key in base64.
      keys text not null,
      created_at timestamptz(3) not null default now(),
      unique (workspace_id, host)
    );
  `);
}
