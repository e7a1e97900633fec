import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  // Rows have the whole configuration: deployments that wait, or that a rollback copies, are read too.
  for (const table of ['services', 'deployments']) {
    await knex.raw(
      `update ?? set configuration = '{"dockerfileTarget": "", "dockerfileText": "", "startArguments": []}' || configuration`,
      [table],
    );
  }
}
