import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- timestamptz(3) rounds now() up by as much as half a millisecond. A row that was due at once could then be passed over
    -- by the round that its own insert had caused, and waited for the next one.
    alter table deployments alter column due_at type timestamptz;
    alter table operations alter column due_at type timestamptz;
    alter table detections alter column due_at type timestamptz;
    alter table log_batches alter column due_at type timestamptz;
    alter table commit_events alter column due_at type timestamptz;
    alter table webhook_deliveries alter column due_at type timestamptz;
    alter table notifications alter column due_at type timestamptz;
    alter table budget_alerts alter column due_at type timestamptz;
    alter table backups alter column due_at type timestamptz;
    alter table domains alter column next_check_at type timestamptz;
    alter table runs alter column due_at type timestamptz, alter column not_before type timestamptz;
  `);
}
