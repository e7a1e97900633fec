import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The Swarm task that the replica is at present; null for replicas that are processes.
    alter table replicas add column task_id text;
    -- The engine's time of the last line of that task that is in the log (RFC 3339, nanoseconds).
    alter table replicas add column log_since text;

    -- A swarm has many nodes with ports of their own, and hands them out itself: only processes compete for a host's ports.
    drop index replicas_port;
    create unique index replicas_port on replicas (host_id, port)
      where port is not null and state <> 'stopped' and task_id is null;

    -- One row. The id marks what this installation makes in systems that it shares with others.
    create table installation (
      id uuid primary key default gen_random_uuid(),
      -- Lets there be no second row.
      singleton boolean not null default true unique check (singleton)
    );
    insert into installation default values;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop table installation;
    drop index replicas_port;
    create unique index replicas_port on replicas (host_id, port) where port is not null and state <> 'stopped';
    alter table replicas drop column task_id, drop column log_since;
  `);
}
