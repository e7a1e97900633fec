import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Batches on their way in. A log-ingest job moves a batch to log_lines and deletes it in one transaction.
    create table log_batches (
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      deployment_id uuid references deployments on delete cascade,
      source text not null,
      -- [{ level, message, timestamp }], masked.
      lines jsonb not null,
      -- Lets one statement take batches with a limited number of lines.
      line_count integer not null default 1000,
      -- The job, as in deployments.
      due_at timestamptz(3),
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now()
    );
    create index log_batches_age on log_batches (created_at);
    -- The oldest batches of one service, however many batches other services have.
    create index log_batches_service on log_batches (service_id, created_at, id);
    create index log_batches_due on log_batches (due_at) where due_at is not null;

    -- The last line id of each service. The lock of this row makes ids appear in the order of commits.
    create table log_counters (
      service_id uuid primary key references services on delete cascade,
      last_id bigint not null default 0
    );

    create table log_lines (
      service_id uuid not null references services on delete cascade,
      id bigint not null,
      deployment_id uuid,
      source text not null,
      level text not null,
      message text not null,
      logged_at timestamptz(3) not null,
      primary key (service_id, id)
    );
    -- Retention deletes old lines of a service.
    create index log_lines_age on log_lines (service_id, logged_at);
    -- Reads the lines of one deployment.
    create index log_lines_deployment on log_lines (service_id, deployment_id, id);
  `);
}
