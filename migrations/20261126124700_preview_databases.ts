import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  // Rows have the whole configuration: deployments that wait, or that a rollback copies, are read too.
  for (const table of ['services', 'deployments']) {
    await knex.raw(`update ?? set configuration = '{"previewDatabases": "shared"}' || configuration`, [table]);
  }
  await knex.raw(`
    -- Databases that exist for one preview, and are deleted after it.
    create table preview_databases (
      service_id uuid primary key references services,
      preview_id uuid not null references services,
      -- The database to which the variables of the preview refer.
      original_id uuid not null references services,
      -- The backup that it begins with; null if the original had none. The backup may be gone.
      backup_id uuid,
      unique (preview_id, original_id)
    );
  `);
}
