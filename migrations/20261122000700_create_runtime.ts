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
      -- How many deployments it runs at a time. Admission admits no more than all workers together have slots.
      deploy_slots integer not null,
      -- The jobs that it runs now: [{ queue, jobId, since }].
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
      -- The start time of the process as the kernel reports it. It tells the process from a later one with the same pid.
      pid_started text,
      -- The current Swarm task of the replica; null for replicas that are processes.
      task_id text,
      restarts integer not null default 0,
      exit_detail text not null default '',
      next_start_at timestamptz(3),
      -- How far the output of a process is in the log, in bytes.
      log_offset bigint not null default 0,
      -- The engine's time of the task's last line that is in the log (RFC 3339, nanoseconds).
      log_since text,
      ready_at timestamptz(3),
      started_at timestamptz(3),
      checked_at timestamptz(3),
      stopped_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      unique (deployment_id, generation, position)
    );
    -- The replicas that a host's controllers reconcile.
    create index replicas_host on replicas (host_id) where state <> 'stopped';
    create index replicas_service on replicas (service_id) where state <> 'stopped';
    -- Two processes of one host never share a port. Swarm assigns the ports of its tasks, on many nodes, by itself.
    create unique index replicas_port on replicas (host_id, port)
      where port is not null and state <> 'stopped' and task_id is null;

    -- Ports that a replica has released. An edge with the old route still sends requests there, so no other replica gets
    -- the port before every edge has the new route.
    create table resting_ports (
      host_id uuid not null,
      port integer not null,
      service_id uuid not null references services on delete cascade,
      -- The first version of the service's route without the replica.
      route_version bigint not null,
      released_at timestamptz(3) not null default now(),
      primary key (host_id, port)
    );

    create sequence route_versions;

    create table edges (
      id uuid primary key,
      host text not null,
      pid integer not null,
      -- The edge's counters, for the metrics.
      figures jsonb not null default '{}',
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
