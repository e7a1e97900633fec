import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Ends of deployments that somebody may want to be told of, written by the statement that ends them. A row is gone
    -- once its mail is sent, or nobody wants it.
    create table notifications (
      deployment_id uuid primary key references deployments on delete cascade,
      tries integer not null default 0,
      -- Not before this time; whoever sends moves it forward, so that a crash delays a mail and loses none.
      due_at timestamptz(3) not null default now(),
      created_at timestamptz(3) not null default now()
    );
    -- What the sweep takes.
    create index notifications_due on notifications (due_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table notifications');
}
