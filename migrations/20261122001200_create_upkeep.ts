import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- How often each sweep has repaired something since the beginning, for the metrics.
    create table repairs (
      sweep text primary key,
      count bigint not null default 0,
      last_at timestamptz(3) not null default now()
    );

    -- Ids of the keys that stored values may be sealed with. A process that lacks one of these keys does not start.
    create table secrets_keys (
      key_id text primary key,
      created_at timestamptz(3) not null default now()
    );

    -- One row. The id marks what this installation creates in systems that it shares with others.
    create table installation (
      id uuid primary key default gen_random_uuid(),
      -- Prevents a second row.
      singleton boolean not null default true unique check (singleton)
    );
    insert into installation default values;
  `);
}
