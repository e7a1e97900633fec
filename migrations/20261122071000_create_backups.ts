import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table backups (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      trigger text not null,
      actor text not null default '',
      status text not null default 'queued',
      -- The daily slot that it was made for; null for a backup on demand.
      scheduled_for timestamptz(3),
      -- Bytes in the store; null until it has succeeded.
      size_bytes bigint,
      -- Bytes of the data that it copied: a restore needs so much room.
      data_bytes bigint,
      error text not null default '',
      -- The key of the archive, sealed. Without it the archive cannot be read.
      sealed_key bytea,
      -- Where the archive is: "s3", or "folder:" and the id of the host whose DATA_DIR holds it.
      store text,
      -- The archive's name in its store. Each claim makes its own, so that two workers never write the same one.
      object text,
      -- The lease and the job, as in deployments.
      fence bigint not null default 0,
      worker_id uuid,
      lease_expires_at timestamptz(3),
      due_at timestamptz(3),
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now(),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      updated_at timestamptz(3) not null default now(),
      -- Nobody sees it any more; a sweep removes what the store holds, then the row.
      deleted_at timestamptz(3),
      constraint backups_end check ((finished_at is not null) = (status in ('succeeded', 'failed')))
    );
    -- At most one backup of a service is under way.
    create unique index backups_open on backups (service_id) where finished_at is null;
    -- One backup for each slot, however many workers see it.
    create unique index backups_slot on backups (service_id, scheduled_for) where scheduled_for is not null;
    create index backups_listing on backups (service_id, created_at desc, id desc);
    create index backups_due on backups (due_at) where due_at is not null;
    create index backups_deleted on backups (deleted_at) where deleted_at is not null;
    -- Retention reads those that have ended, by age.
    create index backups_age on backups (created_at) where deleted_at is null;

    -- What an operation of kind restore restores.
    alter table operations add column backup_id uuid references backups on delete set null;
    -- Commands ask whether a service is being restored.
    create index operations_open_service on operations (service_id) where finished_at is null;
    -- The sweep compares the data services with their backups.
    create index services_data on services (id) where kind in ('postgres', 'redis') and deleted_at is null;
  `);
}
