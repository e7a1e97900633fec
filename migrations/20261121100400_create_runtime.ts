import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table workers (
      id uuid primary key,
      host text not null,
      host_id uuid not null,
      pid integer not null,
      version text not null,
      queues text[] not null,
      -- How many deployments it runs at a time: admission hands out no more than the fleet has slots.
      deploy_slots integer not null,
      -- What it runs now: [{ queue, jobId, since }].
      running jsonb not null default '[]',
      started_at timestamptz(3) not null default now(),
      seen_at timestamptz(3) not null default now()
    );

    create table replicas (
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      deployment_id uuid not null references deployments on delete cascade,
      host_id uuid not null,
      -- A restart starts a new generation beside the old one and then stops the old one.
      generation integer not null default 1,
      position integer not null,
      desired text not null default 'running',
      state text not null default 'pending',
      address text not null default '127.0.0.1',
      port integer,
      pid integer,
      -- The process's start time as the kernel gives it: a pid that was reused is not ours.
      pid_started text,
      restarts integer not null default 0,
      exit_detail text not null default '',
      next_start_at timestamptz(3),
      log_offset bigint not null default 0,
      ready_at timestamptz(3),
      started_at timestamptz(3),
      checked_at timestamptz(3),
      stopped_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      unique (deployment_id, generation, position)
    );
    -- The host supervisor's working set.
    create index replicas_host on replicas (host_id) where state <> 'stopped';
    create index replicas_service on replicas (service_id) where state <> 'stopped';
    -- No two replicas of one host share a port.
    create unique index replicas_port on replicas (host_id, port) where port is not null and state <> 'stopped';

    create sequence route_versions;

    create table edges (
      id uuid primary key,
      host text not null,
      pid integer not null,
      seen_at timestamptz(3) not null default now()
    );

    create table edge_acknowledgements (
      edge_id uuid not null references edges on delete cascade,
      service_id uuid not null references services on delete cascade,
      version bigint not null,
      primary key (edge_id, service_id)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table edge_acknowledgements, edges, replicas, workers; drop sequence route_versions');
}
