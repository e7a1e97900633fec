import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- What the provider has to know when a person signs out, of sessions that began with it.
    create table provider_sign_ins (
      id uuid primary key,
      session_id uuid unique references sessions on delete cascade,
      -- Set in place of the session while the sign-in waits for a second factor of this installation.
      link_id uuid unique references sign_in_links on delete cascade,
      sealed_id_token bytea not null,
      check (num_nonnulls(session_id, link_id) = 1)
    );
  `);
}
