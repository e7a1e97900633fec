import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- What a service of kind postgres or redis keeps for its whole life, whichever release runs its server.
    create table data_servers (
      -- The service's id: a service has one server and one volume.
      id uuid primary key references services on delete cascade,
      kind text not null,
      -- The major version of PostgreSQL; '' for redis. It cannot change once there is data.
      version text not null,
      -- '' for redis.
      database_name text not null,
      user_name text not null,
      -- The password of the tenant's user and that of the platform's own; null once the service is deleted.
      sealed_password bytea,
      sealed_admin_password bytea,
      -- The host that has the volume; null before the first release.
      host_id uuid,
      -- When the volume got its data. From then on a volume without it is never filled again.
      initialized_at timestamptz(3),
      -- Where applications reach the server; null before its first start.
      reach_host text,
      reach_port integer,
      -- The port of the host's loopback that the server keeps; null if it has a network of its own.
      host_port integer,
      -- Bytes of its data when they were last measured, without PostgreSQL's write-ahead log.
      used_bytes bigint not null default 0,
      measured_at timestamptz(3),
      -- How the storage bound of the plan is enforced now: open, read_only or closed.
      storage_state text not null default 'open',
      -- While work on the stopped server's volume lasts, nothing starts it. The holder renews the time.
      hold_token uuid,
      held_until timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    create unique index data_servers_host_port on data_servers (host_id, host_port) where host_port is not null;

    -- The service whose volume a replica uses; null for replicas without one. A volume has one server, whatever goes wrong.
    alter table replicas add column volume_id uuid;
    create unique index replicas_volume on replicas (volume_id) where volume_id is not null and state <> 'stopped';

    -- Variables that are read from data services when a release starts: variable → { serviceId, key }.
    alter table snapshots add column data_references jsonb not null default '{}';

    -- The kinds of data services that the worker's host can run.
    alter table workers add column data_kinds text[] not null default '{}';
  `);
}
