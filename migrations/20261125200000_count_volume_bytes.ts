import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The most that the service's volumes held in the step, together; null without volumes.
    alter table service_metrics add column volume_bytes bigint
  `);
}
