import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table passkeys (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      name text not null,
      -- The credential's id as the browser names it (base64url), and its public key.
      credential_id text not null unique,
      public_key bytea not null,
      -- How often the authenticator was used, as it says. A lower number than before means a copy of it.
      counter bigint not null,
      created_at timestamptz(3) not null default now(),
      used_at timestamptz(3)
    );
    create index passkeys_user on passkeys (user_id);

    -- Challenges that were answered, so that no answer is accepted twice. They expire within minutes.
    create table used_challenges (challenge_hash bytea primary key, used_at timestamptz(3) not null default now());
  `);
}
