import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table volumes
      -- The node of the swarm that has it; null without a swarm, and before the first release that mounts it.
      add column node_id text,
      add column node_name text,
      -- The image of that release: its shell empties a deleted volume on another node than the worker's.
      add column node_image text;
  `);
}
