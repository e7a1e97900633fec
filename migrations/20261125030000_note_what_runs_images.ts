import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- True if the worker can pull, build and run images (the catalog's imageDeploys and dockerfileBuilds).
    alter table workers add column runs_images boolean not null default false;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table workers drop column runs_images');
}
