import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- When the edges last had a visitor of a service that may sleep. A table of its own, because it changes often.
    create table service_visits (
      service_id uuid primary key references services on delete cascade,
      visited_at timestamptz(3) not null default now()
    );
    -- Set while automatic scaling has taken the last replica away.
    alter table services add column asleep_since timestamptz(3);
  `);
}
