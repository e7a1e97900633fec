import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- False if the worker runs hosted code without containers, so that no release with a volume starts there.
    -- True for workers of earlier versions, which do not tell.
    alter table workers add column mounts_volumes boolean not null default true;
  `);
}
