import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A transition leaves its row's indexed columns as they are. Then it needs no new index entries, if the page has room.
    alter table deployments set (fillfactor = 60);
    alter table services set (fillfactor = 60);

    -- Only what waits is read by its number; what runs is in deployments_active, and so is what is due.
    create index deployments_waiting_order on deployments (number) where finished_at is null and admitted_at is null;
    drop index deployments_open;
    drop index deployments_due;
    drop index deployments_open_workspace;
    -- Numbers are generated, and nothing looks for one.
    alter table deployments drop constraint deployments_number_key;

    -- What ended in a workspace since a moment, for its webhooks.
    create index deployments_ended_of_workspace on deployments (workspace_id, finished_at) where finished_at is not null;
    drop index deployments_build_time;
  `);
}
