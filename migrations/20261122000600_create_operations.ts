import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table operations (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      kind text not null,
      status text not null default 'queued',
      actor text not null,
      error text not null default '',
      -- The lease and the job, as in deployments.
      fence bigint not null default 0,
      worker_id uuid,
      lease_expires_at timestamptz(3),
      due_at timestamptz(3),
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      finished_at timestamptz(3),
      constraint operations_end check ((finished_at is not null) = (status in ('succeeded', 'failed')))
    );
    create index operations_listing on operations (service_id, created_at desc, id desc);
    create index operations_open on operations (created_at) where finished_at is null;
    create index operations_due on operations (due_at) where due_at is not null;
  `);
}
