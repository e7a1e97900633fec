import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Collectors to which the logs, metrics and traces of a workspace are sent (OTLP over HTTP).
    create table drains (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      -- Null for all services of the workspace.
      service_id uuid references services on delete cascade,
      name text not null,
      -- The address without /v1/logs and so on. It holds no secret.
      endpoint text not null,
      -- JSON with the headers of each request; null without any.
      sealed_headers bytea,
      header_names text[] not null,
      created_at timestamptz(3) not null default now()
    );
    create index drains_listing on drains (workspace_id, created_at desc, id desc);

    -- How far each signal of a drain was sent.
    create table drain_signals (
      drain_id uuid not null references drains on delete cascade,
      signal text not null,
      -- The last step of metrics that was sent, or the last end of a deployment. Log lines are counted in drain_lines.
      sent_until timestamptz(3) not null default now(),
      -- Deployments that were sent and ended in the two minutes before sent_until.
      sent_ids uuid[] not null default '{}',
      -- The earliest time of the next request. A worker that takes the signal moves it forward.
      due_at timestamptz not null default now(),
      -- Every take raises it. What that worker records names it, and changes nothing if it has been raised.
      takes bigint not null default 0,
      -- Requests that failed since the last success.
      tries integer not null default 0,
      -- When the oldest record happened that waits; null if none does.
      behind_since timestamptz(3),
      sent_at timestamptz(3),
      -- What was wrong with the last request, or what was lost in the last hour; empty if nothing was.
      error text not null default '',
      -- When that was lost; null if the error is of the last request.
      lost_at timestamptz(3),
      -- How many records were never stored by the collector.
      dropped bigint not null default 0,
      primary key (drain_id, signal)
    );
    create index drain_signals_due on drain_signals (due_at);

    -- The last log line of each service that was sent.
    create table drain_lines (
      drain_id uuid not null references drains on delete cascade,
      service_id uuid not null references services on delete cascade,
      last_id bigint not null,
      sent_at timestamptz(3) not null default now(),
      primary key (drain_id, service_id)
    );

    -- The caller's trace, as the header traceparent says it; null without one.
    alter table deployments add column traceparent text;
  `);
}
