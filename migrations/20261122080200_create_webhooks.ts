import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Addresses of a workspace that are told of events.
    create table webhooks (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      -- As it is shown, without its query.
      url text not null,
      -- The whole address, which may contain a secret.
      sealed_url bytea not null,
      -- What signs the deliveries.
      sealed_secret bytea not null,
      events text[] not null,
      created_at timestamptz(3) not null default now(),
      -- Events that ended before were looked at.
      scanned_at timestamptz(3) not null default now(),
      delivered_at timestamptz(3),
      -- What came of the last try.
      outcome text not null default ''
    );
    create index webhooks_listing on webhooks (workspace_id, created_at desc, id desc);

    -- What is to be told, and was told: once for each webhook and event.
    create table webhook_deliveries (
      id uuid primary key,
      webhook_id uuid not null references webhooks on delete cascade,
      event text not null,
      -- What happened: the id of a deployment, a run, a backup, or the month and share of a budget.
      subject text not null,
      data jsonb not null,
      happened_at timestamptz(3) not null,
      tries integer not null default 0,
      -- The earliest time of the next try; null if there is none. The sender moves it forward first.
      due_at timestamptz(3) default now(),
      created_at timestamptz(3) not null default now()
    );
    create unique index webhook_deliveries_once on webhook_deliveries (webhook_id, event, subject);
    create index webhook_deliveries_due on webhook_deliveries (due_at) where due_at is not null;
    create index webhook_deliveries_age on webhook_deliveries (created_at);
  `);
}
