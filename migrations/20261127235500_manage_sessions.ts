import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- What a person recognizes a session by: the client and the program that signed in.
    alter table sessions add column origin text not null default '', add column user_agent text not null default '';

    -- Codes that each replace one code of the authenticator. Only their hashes are stored.
    create table backup_codes (
      user_id uuid not null references users on delete cascade,
      code_hash bytea not null,
      primary key (user_id, code_hash)
    );
  `);
}
