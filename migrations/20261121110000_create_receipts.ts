import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The successful answer of a keyed write, kept for 24 hours and replayed to whoever sends the key again.
    create table receipts (
      -- sha256 of workspace, actor, credential, method and path.
      scope text not null,
      key text not null,
      -- sha256 of the request's canonical JSON: the same key with another payload is a conflict.
      payload_hash text not null,
      status integer not null,
      -- The response's own text.
      body text not null,
      created_at timestamptz(3) not null default now(),
      expires_at timestamptz(3) not null,
      primary key (scope, key)
    );
    -- Retention deletes what has expired.
    create index receipts_expiry on receipts (expires_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table receipts');
}
