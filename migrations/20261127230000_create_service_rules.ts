import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The rules of the edge for a service, in order. A service without rules has no row.
    create table service_rules (
      service_id uuid primary key references services on delete cascade,
      -- The route version with which they were stored, by which an edge knows that it has them.
      version bigint not null,
      -- Users of a basicAuth rule have a hash of their password.
      rules jsonb not null,
      updated_at timestamptz(3) not null default now()
    );
    -- The host name to which every request of this domain is redirected.
    alter table domains add column redirect_to text;
  `);
}
