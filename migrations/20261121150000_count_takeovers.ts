import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- How often the running step was taken over from a worker that had not given it back.
    alter table deployments add column takeovers integer not null default 0;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table deployments drop column takeovers');
}
