import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  // The deployments of a workspace that have run in this month: how long their builds took counts against its plan.
  await knex.raw('create index deployments_build_time on deployments (workspace_id, finished_at)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index deployments_build_time');
}
