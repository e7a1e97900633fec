import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The node of the swarm that has the volume, and its host name for people; null in the process runtime.
    alter table data_servers add column node_id text;
    alter table data_servers add column node_name text;
    -- The image that made the volume: what removes its content from a node later runs from it.
    alter table data_servers add column node_image text;
  `);
}
