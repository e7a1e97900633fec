import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table services
      -- How many replicas automatic scaling wants; null before its first decision, and while scaling is manual.
      add column scaled_replicas integer;

    -- What automatic scaling remembers of a service (shared/scaling/model.ts).
    create table service_scaling (
      service_id uuid primary key,
      memory jsonb not null,
      -- Raised with each write: a decision that was made from an older memory is not applied.
      version bigint not null default 1,
      updated_at timestamptz(3) not null default now()
    );
    create index services_scaled on services (id) where configuration ->> 'scaling' = 'auto' and deleted_at is null;
  `);
}
