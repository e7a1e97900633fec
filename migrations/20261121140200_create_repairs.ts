import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- What the sweeps have mended since the beginning, for the metrics.
    create table repairs (
      sweep text primary key,
      count bigint not null default 0,
      last_at timestamptz(3) not null default now()
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table repairs');
}
