import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Edges ask every 5 s which routes have changed, and not for all routes. A new service has its first version at once,
    -- so that edges learn of its host name.
    alter table services alter column route_version set default nextval('route_versions');
    update services set route_version = nextval('route_versions') where route_version = 0;
    create index services_route_version on services (route_version);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop index services_route_version;
    alter table services alter column route_version set default 0;
  `);
}
