import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Until when the recording of a shell is kept; null if it is not recorded. The record of the shell is kept as long.
    alter table remote_sessions add column recorded_until timestamptz(3);
    create index remote_sessions_recorded on remote_sessions (service_id, created_at desc, id desc)
      where recorded_until is not null;

    -- The recording of a shell in its order: asciicast v2, each part a gzip stream of whole lines.
    create table shell_recordings (
      session_id uuid not null references remote_sessions on delete cascade,
      part integer not null,
      content bytea not null,
      primary key (session_id, part)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop table shell_recordings;
    drop index remote_sessions_recorded;
    alter table remote_sessions drop column recorded_until;
  `);
}
