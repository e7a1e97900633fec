import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- True if the first poll of the branch saw the commit, and nothing decided about it.
    alter table commit_heads add column only_seen boolean not null default false;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table commit_heads drop column only_seen');
}
