import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Rules of a workspace: a figure of its services that somebody is told of when it is above a threshold.
    create table alert_rules (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      -- Null for every service of the workspace.
      service_id uuid references services on delete cascade,
      -- See shared/alerts/model.ts, also for the unit of the threshold.
      metric text not null,
      above double precision not null,
      for_minutes integer not null,
      created_at timestamptz(3) not null default now()
    );
    create index alert_rules_listing on alert_rules (workspace_id, created_at desc, id desc);
    create index alert_rules_service on alert_rules (service_id) where service_id is not null;

    -- How each rule stands for each of its services (workers/alerts/decide-alert.ts). A round updates every row, so that there is room
    -- for the new version on its page.
    create table alert_states (
      alert_id uuid not null references alert_rules on delete cascade,
      service_id uuid not null references services on delete cascade,
      status text not null,
      -- The last measured value.
      value double precision,
      -- When the status began; of a firing one, when the value began to be above.
      since timestamptz(3),
      -- Minutes in a row: above the threshold, or not above it while the rule fires.
      run integer not null,
      -- How many minutes not above it end the firing. It grows if the value comes and goes.
      return_minutes integer not null,
      resolved_at timestamptz(3),
      -- The minute of the last value.
      data_at timestamptz(3),
      -- Up to when the figures were looked at.
      seen_at timestamptz not null,
      -- The last message, and when its mail is due; null if it is sent.
      told_at timestamptz(3),
      mail_due_at timestamptz,
      mail_tries integer not null default 0,
      primary key (alert_id, service_id)
    ) with (fillfactor = 70);
    create index alert_states_service on alert_states (service_id);
    create index alert_states_mail on alert_states (mail_due_at) where mail_due_at is not null;

    -- Restarts of replicas that had been ready, for some hours.
    create table replica_restarts (
      service_id uuid not null,
      at timestamptz not null default now()
    );
    create index replica_restarts_service on replica_restarts (service_id, at);
    create index replica_restarts_age on replica_restarts (at);

    -- Until when the certificate of a domain is valid. Edges look at those that a rule watches.
    alter table domains add column certificate_until timestamptz(3), add column certificate_checked_at timestamptz;
  `);
}
