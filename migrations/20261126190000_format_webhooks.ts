import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- How the body of a delivery is written: 'json' as the API's document describes it, the others as a chat wants it.
    alter table webhooks add column format text not null default 'json';
  `);
}
