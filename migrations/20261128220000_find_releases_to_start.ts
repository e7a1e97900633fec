import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Live releases that have no replicas. The leader looks for them among all services, so that hosts need not.
    create table releases_to_start (
      deployment_id uuid primary key references deployments (id) on delete cascade
    );
    create index data_servers_host on data_servers (host_id) where host_id is not null;
    -- The rows of services are large, and some sweeps need only this column of all of them.
    create index services_live on services (live_deployment_id) where live_deployment_id is not null;
    create index services_asleep on services (id) where asleep_since is not null;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    'drop index services_asleep; drop index services_live; drop index data_servers_host; drop table releases_to_start',
  );
}
