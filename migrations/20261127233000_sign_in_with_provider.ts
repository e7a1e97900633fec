import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- People as a provider of OpenID Connect knows them. A user may have none: the one that is made at first sign-in has one.
    create table provider_identities (
      id uuid primary key,
      issuer text not null,
      -- The provider's own name of the person, which never changes.
      subject text not null,
      user_id uuid not null references users on delete cascade,
      created_at timestamptz(3) not null default now(),
      signed_in_at timestamptz(3) not null default now(),
      unique (issuer, subject)
    );
    create index provider_identities_user on provider_identities (user_id);

    -- Who becomes a member of a workspace by signing in with the provider. A workspace without a row admits nobody so.
    create table workspace_sign_in (
      workspace_id uuid primary key references workspaces on delete cascade,
      allowed_domains text[] not null,
      role text not null,
      -- The claim whose values the roles belong to (value → role).
      role_claim text,
      roles jsonb not null default '{}',
      -- False if sessions that a password has made do not reach the workspace.
      passwords boolean not null,
      updated_at timestamptz(3) not null default now()
    );
    create index workspace_sign_in_domains on workspace_sign_in using gin (allowed_domains);

    -- Who has become a member by signing in once: a member who was removed does not become one again.
    create table sign_in_admissions (
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null references users on delete cascade,
      created_at timestamptz(3) not null default now(),
      primary key (workspace_id, user_id)
    );
    create index sign_in_admissions_user on sign_in_admissions (user_id);

    -- True for members that a sign-in has made: the provider's claims set their role.
    alter table memberships add column by_sign_in boolean not null default false;
    -- True if a password was the proof. Until now it always was, or a link that the operator has made.
    alter table sessions add column by_password boolean not null default true;
  `);
}
