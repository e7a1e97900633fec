import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- True if the routes of the apply's deployments move in one transaction.
    alter table stack_applies add column together boolean not null default false,
      -- Why none of these routes moves; empty until that is certain. From then on no route of them can move.
      add column together_error text not null default '',
      -- The apply whose releases this one brings back.
      add column rollback_of uuid references stack_applies on delete set null;

    -- The apply with whose other deployments this one goes live.
    alter table deployments add column together_id uuid references stack_applies on delete set null,
      -- When the release was healthy and began to wait for the others.
      add column prepared_at timestamptz(3);
    create index deployments_together on deployments (together_id) where together_id is not null;

    -- A prepared deployment waits for others and takes none of the places of its workspace.
    create or replace function note_admission() returns trigger language plpgsql as $$
    declare
      was integer := case when tg_op <> 'INSERT' and old.admitted_at is not null and old.finished_at is null
                               and old.status <> 'prepared' then 1 else 0 end;
      is_now integer := case when tg_op <> 'DELETE' and new.admitted_at is not null and new.finished_at is null
                                  and new.status <> 'prepared' then 1 else 0 end;
    begin
      if tg_op = 'DELETE' then
        update admission_lines set active = active - was, ready = true where workspace_id = old.workspace_id;
        return null;
      end if;
      insert into admission_lines as l (workspace_id, active, last_turn, ready)
      values (new.workspace_id, is_now, new.admitted_at, true)
      on conflict (workspace_id) do update
         set active = l.active + is_now - was, last_turn = greatest(l.last_turn, excluded.last_turn), ready = true;
      return null;
    end $$;
    drop trigger deployments_admission_update on deployments;
    create trigger deployments_admission_update after update of status, admitted_at, finished_at, cancel_requested_at on deployments
      for each row when (old.admitted_at is distinct from new.admitted_at or old.finished_at is distinct from new.finished_at
                         or old.cancel_requested_at is distinct from new.cancel_requested_at
                         or (old.status = 'prepared') <> (new.status = 'prepared'))
      execute function note_admission();
  `);
}
