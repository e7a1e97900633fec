import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A deployment whose release is compared with the previous one: some visitors get it, the others the previous one.
    create table canaries (
      deployment_id uuid primary key references deployments on delete cascade,
      service_id uuid not null references services on delete cascade,
      -- The release that was live when the canary began.
      previous_id uuid not null references deployments on delete cascade,
      -- The share of visitors who get the new release.
      percent smallint not null,
      begun_at timestamptz(3) not null default now(),
      ends_at timestamptz(3) not null,
      -- Since then all visitors have one release: the new one if it was promoted, else the previous one.
      ended_at timestamptz(3),
      promoted boolean not null default false,
      -- What was found at the end.
      reason text not null default ''
    );
    create unique index canaries_open on canaries (service_id) where ended_at is null;

    -- What the edges have counted on each side of a canary.
    create table canary_sides (
      deployment_id uuid not null references canaries on delete cascade,
      side text not null check (side in ('new', 'previous')),
      requests bigint not null,
      -- Answers with a status of 5xx, also the edge's own, and answers that broke off.
      errors bigint not null,
      -- Counts by class of latency, as in service_metrics.
      latency integer[] not null,
      primary key (deployment_id, side)
    );

    -- A deployment with a canary under way takes none of the places of its workspace, and neither does a prepared one.
    create or replace function note_admission() returns trigger language plpgsql as $$
    declare
      was integer := case when tg_op <> 'INSERT' and old.admitted_at is not null and old.finished_at is null
                               and old.status not in ('prepared', 'canary') then 1 else 0 end;
      is_now integer := case when tg_op <> 'DELETE' and new.admitted_at is not null and new.finished_at is null
                                  and new.status not in ('prepared', 'canary') then 1 else 0 end;
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
                         or (old.status in ('prepared', 'canary')) <> (new.status in ('prepared', 'canary')))
      execute function note_admission();

    -- Git hosts see a canary as a part of the release.
    drop trigger deployments_report_updated on deployments;
    create trigger deployments_report_updated after update of status on deployments
      for each row when (new.commit_sha <> '' and old.status is distinct from new.status
                         and new.status not in ('prepared', 'canary', 'withdrawn', 'switched'))
      execute function report_deployment();
  `);
}
