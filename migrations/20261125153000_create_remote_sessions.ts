import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Shells and tunnels: somebody's live access to a replica. An API process holds the client's connection, and a worker of the
    -- replica's host the other end. They are not work of the queue: nothing of them is ever repeated.
    create table remote_sessions (
      id uuid primary key,
      kind text not null check (kind in ('shell', 'tunnel')),
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      -- A replica or the attempt of a run. There is no reference, because a record outlives it.
      replica_id uuid not null,
      host_id uuid not null,
      -- Who opened it, as the audit log names them. The session ends with the key or the browser's session.
      actor text not null,
      user_id uuid not null,
      credential text not null,
      credential_id uuid not null,
      request_id text not null,
      -- sha256 of the ticket in the address, and until when it opens a connection.
      ticket_hash bytea not null unique,
      expires_at timestamptz(3) not null,
      -- A shell's command: a string for sh -c, an array, or null for the login shell. The size of its terminal; null without one.
      command jsonb,
      columns integer,
      rows integer,
      -- A tunnel's port.
      port integer,
      created_at timestamptz(3) not null default now(),
      opened_at timestamptz(3),
      -- The API process that holds it says every few seconds that it is open.
      seen_at timestamptz(3),
      ended_at timestamptz(3),
      exit_code integer,
      -- Why it ended; '' while it is open.
      reason text not null default ''
    );
    create index remote_sessions_open on remote_sessions (workspace_id, kind) where ended_at is null;
    -- Retention.
    create index remote_sessions_age on remote_sessions (created_at);

    -- True if a worker can start commands beside its replicas.
    alter table workers add column enters_replicas boolean not null default false;

    -- What else an entry says of its write, such as the command of a shell.
    alter table audit_entries add column details jsonb;
  `);
}
