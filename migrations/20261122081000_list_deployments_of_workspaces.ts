import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Lists the deployments of a workspace, newest first.
    create index deployments_workspace_listing on deployments (workspace_id, created_at desc, id desc);

    -- The names of the variables that the deployment was queued with. They stay when the values are erased, so that two
    -- deployments can be compared. Null if the deployment is older than this column.
    alter table deployments add column variable_names text[];
  `);
}
