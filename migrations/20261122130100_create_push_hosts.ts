import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Where API processes answer that have a folder of pushed repositories (pushed_repositories.folder_id). The others forward to them.
    create table push_hosts (
      folder_id uuid not null,
      -- Such as http://10.0.0.5:3000, see INTERNAL_URL.
      address text not null,
      seen_at timestamptz(3) not null default now(),
      primary key (folder_id, address)
    );
  `);
}
