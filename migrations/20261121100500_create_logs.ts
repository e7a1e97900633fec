import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Batches on their way in: a log-ingest job moves one into log_lines and deletes it in the same transaction.
    create table log_batches (
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      deployment_id uuid references deployments on delete cascade,
      source text not null,
      -- [{ level, message, timestamp }], masked.
      lines jsonb not null,
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now()
    );
    create index log_batches_age on log_batches (created_at);

    -- The last id given per service. Its row lock makes ids appear in commit order.
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
    -- Retention deletes by age within a service.
    create index log_lines_age on log_lines (service_id, logged_at);
    -- A service's logs of one deployment.
    create index log_lines_deployment on log_lines (service_id, deployment_id, id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table log_lines, log_counters, log_batches');
}
