import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The successful answer of a write with an idempotency key, kept for 24 hours and sent again for the same key.
    create table receipts (
      -- sha256 of workspace, actor, credential, method and path.
      scope text not null,
      key text not null,
      workspace_id uuid references workspaces on delete cascade,
      -- sha256 of the request's canonical JSON. The same key with another payload is a conflict.
      payload_hash text not null,
      status integer not null,
      -- The text of the response.
      body text not null,
      -- Bytes of the body.
      size integer not null default 0,
      created_at timestamptz(3) not null default now(),
      expires_at timestamptz(3) not null,
      primary key (scope, key)
    );
    -- Retention deletes expired receipts.
    create index receipts_expiry on receipts (expires_at);
    -- Adds up the size of a workspace's receipts.
    create index receipts_workspace on receipts (workspace_id, expires_at) include (size);

    -- Windows of the rate limits, shared by all API processes. The columns are those of rate-limiter-flexible. Unlogged,
    -- because a crash of the database may lose the counts of a minute.
    create unlogged table rate_limits (
      key varchar(255) primary key,
      points integer not null default 0,
      expire bigint
    );
  `);
}
