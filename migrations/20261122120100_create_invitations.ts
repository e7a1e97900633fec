import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Invitations to people who have no account yet, sent by e-mail. A row stays until it expires, also if the invitation was accepted
    -- or withdrawn: it counts against how many mails a workspace can have sent.
    create table invitations (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      email text not null,
      role text not null,
      -- sha256 of the link's 256 random bits. Null before the mail is written and after the invitation was accepted or withdrawn.
      token_hash bytea unique,
      -- The e-mail address of the member who invited.
      invited_by text not null,
      created_at timestamptz(3) not null default now(),
      expires_at timestamptz(3) not null
    );
    create index invitations_workspace on invitations (workspace_id, created_at, id);
    -- Retention deletes expired ones.
    create index invitations_expiry on invitations (expires_at);
  `);
}
