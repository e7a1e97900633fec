import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- True if the service's containers are frozen while its volumes are copied.
    alter table backups add column pause boolean not null default false;
    -- While an operation has a service's volumes, nothing that mounts them starts: as the columns of data_servers.
    alter table volumes add column hold_token uuid, add column held_until timestamptz(3);
    -- Until then its container may be frozen, and its health is not checked.
    alter table replicas add column paused_until timestamptz(3);
  `);
}
