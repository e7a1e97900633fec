import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Ids of the keys that what is stored may be sealed with: a process that lacks one of them does not start.
    create table secrets_keys (
      key_id text primary key,
      created_at timestamptz(3) not null default now()
    );
    -- A sealed value names its key in its second to fifth byte.
    insert into secrets_keys (key_id)
      select encode(substring(sealed from 2 for 4), 'hex') from variables where sealed is not null
      union select encode(substring(sealed_variables from 2 for 4), 'hex') from deployments where sealed_variables <> ''
      union select encode(substring(totp_sealed from 2 for 4), 'hex') from users where totp_sealed is not null;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table secrets_keys');
}
