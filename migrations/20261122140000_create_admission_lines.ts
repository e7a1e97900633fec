import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The workspaces in the order of their turns, so that admission looks at a few of them and not at everything that waits.
    create table admission_lines (
      workspace_id uuid primary key references workspaces on delete cascade,
      -- Deployments that were admitted and have not ended.
      active integer not null default 0,
      -- When a deployment of the workspace was admitted last.
      last_turn timestamptz(3),
      -- Something has changed since the last look, which found nothing to admit; or there was no such look.
      ready boolean not null default false,
      -- When the last look found nothing to admit although deployments wait; null otherwise.
      blocked_at timestamptz
    ) with (fillfactor = 70);
    create index admission_lines_turns on admission_lines (active, last_turn nulls first) where ready;
    create index admission_lines_blocked on admission_lines (blocked_at) where not ready and blocked_at is not null;

    create function note_admission() returns trigger language plpgsql as $$
    declare
      was integer := case when tg_op <> 'INSERT' and old.admitted_at is not null and old.finished_at is null then 1 else 0 end;
      is_now integer := case when tg_op <> 'DELETE' and new.admitted_at is not null and new.finished_at is null then 1 else 0 end;
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
    create trigger deployments_admission_insert after insert on deployments
      for each row when (new.finished_at is null) execute function note_admission();
    create trigger deployments_admission_update after update of admitted_at, finished_at, cancel_requested_at on deployments
      for each row when (old.admitted_at is distinct from new.admitted_at or old.finished_at is distinct from new.finished_at
                         or old.cancel_requested_at is distinct from new.cancel_requested_at)
      execute function note_admission();
    create trigger deployments_admission_delete after delete on deployments
      for each row when (old.finished_at is null) execute function note_admission();

    insert into admission_lines (workspace_id, active, last_turn, ready)
    select w.id, (select count(*) from deployments d where d.workspace_id = w.id and d.finished_at is null and d.admitted_at is not null),
           (select max(d.admitted_at) from deployments d where d.workspace_id = w.id and d.admitted_at is not null), true
      from workspaces w;

    -- What runs, what waits in each service, and what waits without a recorded reason.
    create index deployments_active on deployments (workspace_id, service_id) where finished_at is null and admitted_at is not null;
    create index deployments_waiting on deployments (workspace_id, service_id, number)
      where finished_at is null and admitted_at is null;
    create index deployments_open_service on deployments (service_id, number) where finished_at is null;
    create index deployments_unexplained on deployments (number)
      where finished_at is null and admitted_at is null and blocked_reason = '';
    -- The lines have the turns.
    drop index deployments_turns;
  `);
}
