import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- PORT of the application; null if it was given none. Its port differs if it was found to listen on another one.
    alter table replicas add column given_port integer;
  `);
}
