import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Finds when an image went live last, and the deployments that an image could be rolled back to, however many others
    -- their service has had.
    create index deployments_image on deployments (image_id, went_live_at desc nulls last) where image_id is not null;
  `);
}
