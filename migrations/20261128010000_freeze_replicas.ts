import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- True while the processes of the replica are to be frozen, because its service sleeps. Its state is 'frozen' once they are.
    alter table replicas add column to_freeze boolean not null default false;
    -- From when to when the service slept last.
    alter table services add column last_asleep_since timestamptz(3), add column woke_at timestamptz(3);
    comment on column services.asleep_since is 'When the service fell asleep: its replicas were frozen or taken away.';
  `);
}
