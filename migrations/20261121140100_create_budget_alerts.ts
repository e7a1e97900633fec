import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A share of its budget that a workspace's estimated costs reached in a month: its alert is sent once.
    create table budget_alerts (
      workspace_id uuid not null references workspaces on delete cascade,
      -- The first day of the month (UTC).
      month date not null,
      -- Per cent of the budget.
      threshold integer not null,
      tries integer not null default 0,
      -- Not before this time; whoever sends moves it forward, so that a crash delays a mail and loses none.
      due_at timestamptz(3) not null default now(),
      sent_at timestamptz(3),
      primary key (workspace_id, month, threshold)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table budget_alerts');
}
