import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Which databases the previews of a service use. A service without a row shares its own.
    create table preview_settings (
      service_id uuid primary key references services,
      databases text not null check (databases in ('shared', 'own', 'none'))
    );

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
