import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The folders of a service that outlive its releases.
    create table volumes (
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      name text not null,
      -- Where the service's processes see it.
      mount_path text not null,
      -- In units of 1,000,000,000 bytes.
      size_gb integer not null,
      -- The host that has it; null before the first release that mounts it. All volumes of a service are on one host.
      host_id uuid,
      -- Bytes of its content when it was last measured.
      used_bytes bigint not null default 0,
      measured_at timestamptz(3),
      -- What was said last of how full it is: open, nearly_full or full.
      storage_state text not null default 'open',
      -- When it was deleted. Its host removes the content, and then this row.
      removed_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    create unique index volumes_name on volumes (service_id, name) where removed_at is null;
    create unique index volumes_mount_path on volumes (service_id, mount_path) where removed_at is null;
    -- What a host asks for that measures or removes its volumes.
    create index volumes_host on volumes (host_id) where host_id is not null;
  `);
}
