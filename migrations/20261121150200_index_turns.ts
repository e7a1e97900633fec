import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- When a workspace had its last turn: the one that waits longest is next.
    create index deployments_turns on deployments (workspace_id, admitted_at desc) where admitted_at is not null;
    -- Whoever removes a deployment asks for its rollbacks.
    create index deployments_source on deployments (source_deployment_id) where source_deployment_id is not null;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index deployments_turns, deployments_source');
}
