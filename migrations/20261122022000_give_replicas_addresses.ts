import type { Knex } from 'knex';

/** Replicas with a network of their own have equal ports and different addresses. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    drop index replicas_port;
    -- Two processes never share an address with its port. Swarm assigns the ports of its tasks, on many nodes, by itself.
    create unique index replicas_port on replicas (host_id, address, port)
      where port is not null and state <> 'stopped' and task_id is null;

    -- True if the worker's sandboxes have networks of their own (the catalog's networkIsolation).
    alter table workers add column network_isolation boolean not null default false;
  `);
}
