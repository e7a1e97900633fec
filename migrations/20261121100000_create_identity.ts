import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table users (
      id uuid primary key,
      email text not null unique,
      password_hash text,
      email_verified_at timestamptz(3),
      created_at timestamptz(3) not null default now()
    );

    create table workspaces (
      id uuid primary key,
      name text not null,
      plan text not null default 'free',
      configuration jsonb not null default '{}',
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );

    create table memberships (
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null references users on delete cascade,
      role text not null,
      created_at timestamptz(3) not null default now(),
      primary key (workspace_id, user_id)
    );

    create table api_keys (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null references users on delete cascade,
      name text not null,
      scope text not null,
      -- The public part of the key finds the row; the secret part is kept only as a hash.
      lookup text not null unique,
      secret_hash bytea not null,
      expires_at timestamptz(3),
      revoked_at timestamptz(3),
      last_used_at timestamptz(3),
      created_at timestamptz(3) not null default now()
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table api_keys, memberships, workspaces, users');
}
