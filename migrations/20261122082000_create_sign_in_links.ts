import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- One-time links that sign a user in, as npm start prints them. Using a link deletes its row.
    create table sign_in_links (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      -- sha256 of the link's 256 random bits.
      token_hash bytea not null unique,
      created_at timestamptz(3) not null default now(),
      expires_at timestamptz(3) not null
    );
    create index sign_in_links_user on sign_in_links (user_id);
    -- Retention deletes expired links.
    create index sign_in_links_expiry on sign_in_links (expires_at);
  `);
}
