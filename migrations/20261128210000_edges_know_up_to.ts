import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- An edge that starts serves the routes of all services. One number says so, instead of a row for each service.
    alter table edges add column known_version bigint not null default 0;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table edges drop column known_version');
}
