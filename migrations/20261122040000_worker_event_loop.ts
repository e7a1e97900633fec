import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- How long the worker's event loop was blocked at a time: the 99th percentile since the last heartbeat, in milliseconds.
    alter table workers add column event_loop_p99_ms real not null default 0;
  `);
}
