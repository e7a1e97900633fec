import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table sessions (
      -- The credential's name in logs, receipts and rate limits; it is no secret and outlives a change of the token.
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      -- sha256 of the cookie's 256 random bits.
      token_hash bytea not null unique,
      -- The person has proved a second factor in this session.
      second_factor boolean not null default false,
      created_at timestamptz(3) not null default now(),
      -- The idle limit counts from here; written once a minute at most.
      seen_at timestamptz(3) not null default now(),
      -- However often it is used, a session ends here.
      expires_at timestamptz(3) not null
    );
    -- What ends a user's other sessions.
    create index sessions_user on sessions (user_id);
    -- Retention deletes what has expired.
    create index sessions_expiry on sessions (expires_at);

    alter table users
      -- The second factor's secret, sealed for user-totp:<id>; it counts from its confirmation on.
      add totp_sealed bytea,
      add totp_confirmed_at timestamptz(3),
      -- The time step of the last code that was used: neither it nor an older one is good again.
      add totp_counter bigint,
      -- sha256 of the token that was mailed to prove the address.
      add verification_hash bytea unique,
      add verification_expires_at timestamptz(3);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table users drop totp_sealed, drop totp_confirmed_at, drop totp_counter,
                      drop verification_hash, drop verification_expires_at;
    drop table sessions;
  `);
}
