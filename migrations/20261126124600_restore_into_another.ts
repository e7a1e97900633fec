import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The restore that the step has queued.
    alter table stack_steps add column operation_id uuid references operations on delete set null;
    -- A backup is kept while it is restored.
    create index operations_restored on operations (backup_id) where finished_at is null and backup_id is not null;
  `);
}
