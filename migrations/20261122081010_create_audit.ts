import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Who changed what: one row for each write of the API, inserted in the write's own transaction. No column holds what
    -- was written. There are no references, because a row outlives whatever it names.
    create table audit_entries (
      id uuid primary key,
      workspace_id uuid not null,
      -- The e-mail address at that time.
      actor text not null,
      user_id uuid not null,
      -- A key or a session, and its id.
      credential text not null,
      credential_id uuid not null,
      -- The operation of the API's policy, such as service.update.
      operation text not null,
      -- The path below the workspace, and the record that the write created or changed.
      path text not null,
      target_id uuid,
      target_name text not null,
      request_id text not null,
      created_at timestamptz(3) not null default now()
    );
    create index audit_entries_listing on audit_entries (workspace_id, created_at desc, id desc);
    -- Retention.
    create index audit_entries_age on audit_entries (created_at);

    -- Rows are only added. Retention may delete those of more than 90 days.
    create function refuse_audit_change() returns trigger language plpgsql as $$
    begin
      if tg_op = 'DELETE' and old.created_at < now() - interval '90 days' then
        return old;
      end if;
      raise exception 'entries of the audit log are kept for 90 days and never changed';
    end $$;
    create function refuse_audit_truncation() returns trigger language plpgsql as $$
    begin
      raise exception 'entries of the audit log are kept for 90 days and never changed';
    end $$;
    create trigger audit_entries_kept before update or delete on audit_entries
      for each row execute function refuse_audit_change();
    create trigger audit_entries_not_truncated before truncate on audit_entries
      for each statement execute function refuse_audit_truncation();
  `);
}
