import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The address from which a shell was opened or a tunnel was used last.
    alter table remote_sessions add column client_address text;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table remote_sessions drop column client_address');
}
