import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The whole address where it holds a secret, sealed; the configuration has it with asterisks then.
    alter table services add column sealed_repository bytea;
    -- The service's at the time of the request, sealed for this record.
    alter table deployments add column sealed_repository bytea;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table services drop column sealed_repository;
    alter table deployments drop column sealed_repository;
  `);
}
