import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table users (
      id uuid primary key,
      email text not null unique,
      password_hash text,
      email_verified_at timestamptz(3),
      -- sha256 of the token that was mailed to verify the address.
      verification_hash bytea unique,
      verification_expires_at timestamptz(3),
      -- The secret of the second factor, sealed for user-totp:<id>. It is in force once it is confirmed.
      totp_sealed bytea,
      totp_confirmed_at timestamptz(3),
      -- The time step of the last accepted code. This code and older ones are refused.
      totp_counter bigint,
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
      -- The public part of the key, which finds the row.
      lookup text not null unique,
      -- A hash of the secret part, which is stored nowhere.
      secret_hash bytea not null,
      expires_at timestamptz(3),
      revoked_at timestamptz(3),
      last_used_at timestamptz(3),
      created_at timestamptz(3) not null default now()
    );

    create table sessions (
      -- Names the session in logs, receipts and rate limits. It is not secret and stays when the token changes.
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      -- sha256 of the cookie's 256 random bits.
      token_hash bytea not null unique,
      -- True once the user has given a second factor in this session.
      second_factor boolean not null default false,
      -- The client that a session without TLS is bound to (api/http/client.ts): no other client can use its cookie.
      -- Null for a session over TLS.
      client text,
      created_at timestamptz(3) not null default now(),
      -- The idle limit counts from here. Written at most once a minute.
      seen_at timestamptz(3) not null default now(),
      -- The session ends at this time even if it is in use.
      expires_at timestamptz(3) not null
    );
    -- Ends the other sessions of a user.
    create index sessions_user on sessions (user_id);
    -- Retention deletes expired sessions.
    create index sessions_expiry on sessions (expires_at);

    -- Clients from which a user has signed in. Wrong guesses from other clients do not slow them down.
    create table known_clients (
      user_id uuid not null references users on delete cascade,
      client text not null,
      created_at timestamptz(3) not null default now(),
      seen_at timestamptz(3) not null default now(),
      primary key (user_id, client)
    );
  `);
}
