import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Deployments that have ended and may need a mail. The statement that ends a deployment inserts the row. It is deleted
    -- when its mail is sent, or if nobody has asked for one.
    create table notifications (
      deployment_id uuid primary key references deployments on delete cascade,
      tries integer not null default 0,
      -- The earliest time of the next try. The sender moves it forward first, so a crash delays a mail and loses none.
      due_at timestamptz(3) not null default now(),
      created_at timestamptz(3) not null default now()
    );
    -- The sweep takes rows that are due.
    create index notifications_due on notifications (due_at);

    -- A share of its budget that a workspace's estimated costs have reached in a month. Its alert is sent once.
    create table budget_alerts (
      workspace_id uuid not null references workspaces on delete cascade,
      -- The first day of the month (UTC).
      month date not null,
      -- Per cent of the budget.
      threshold integer not null,
      tries integer not null default 0,
      -- As in notifications.
      due_at timestamptz(3) not null default now(),
      sent_at timestamptz(3),
      primary key (workspace_id, month, threshold)
    );
  `);
}
