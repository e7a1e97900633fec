import type { Knex } from 'knex';

/** SQL: makes a report due again unless its job is still to come. `r` is the report. */
const RENEW = `revision = r.revision + 1, changed_at = now(),
        due_at = case when r.finished_at is null then r.due_at else now() end,
        dispatches = r.dispatches + case when r.finished_at is null then 0 else 1 end,
        updated_at = case when r.finished_at is null then r.updated_at else now() end,
        finished_at = null`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Git hosts to which hooks report the states of deployments.
    create table forge_targets (
      -- The hook's.
      id uuid primary key references hooks on delete cascade,
      workspace_id uuid not null references workspaces on delete cascade,
      -- The hook's service. Its previews are reported to the same target.
      service_id uuid not null references services on delete cascade,
      -- 'github', 'gitlab' or 'gitea'.
      forge text not null,
      -- Kept from when the token was given: a later change of the service's repository must not send the token elsewhere.
      api_url text not null,
      -- The repository's path, such as owner/name.
      project text not null,
      sealed_token bytea not null,
      -- A job sends a report until then; a target gets one report at a time.
      busy_until timestamptz,
      -- Nothing is sent before: the git host asked to wait, or has failed.
      not_before timestamptz not null default now(),
      -- Tries in a row that failed.
      failures integer not null default 0,
      sent_at timestamptz(3),
      created_at timestamptz(3) not null default now()
    );
    create index forge_targets_service on forge_targets (service_id);
    create index forge_targets_busy on forge_targets (workspace_id) where busy_until is not null;

    -- What a target is told of. A row names only the subject: a job reads its state when it sends, so that a later state
    -- always replaces an earlier one that was not sent.
    create table forge_reports (
      id uuid primary key,
      hook_id uuid not null references forge_targets on delete cascade,
      service_id uuid not null references services on delete cascade,
      -- 'status' of a commit, 'comment' in a pull request, or 'deployment' (GitHub only).
      kind text not null,
      -- The commit, the number of the pull request, or the id of the deployment.
      subject text not null,
      -- The id of the comment or the deployment at the git host; empty if there is none.
      remote_id text not null default '',
      -- When a comment was first sent whose id is not known. It may exist although no answer arrived.
      attempted_at timestamptz(3),
      -- What was sent last; null if nothing was.
      sent jsonb,
      -- Why the last try failed.
      error text not null default '',
      -- Raised with each change of the subject.
      revision integer not null default 1,
      changed_at timestamptz(3) not null default now(),
      finished_at timestamptz(3),
      due_at timestamptz default now(),
      dispatches integer not null default 1,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    create unique index forge_reports_once on forge_reports (hook_id, service_id, kind, subject);
    create index forge_reports_due on forge_reports (due_at) where due_at is not null;
    create index forge_reports_open on forge_reports (created_at) where finished_at is null;
    create index forge_reports_service on forge_reports (service_id);
    create index forge_reports_age on forge_reports (finished_at);

    -- A deployment of a pushed commit or of a preview has a new state. Others are reported only if their commit was.
    create function report_deployment() returns trigger language plpgsql as $$
    declare
      shown previews%rowtype;
    begin
      select * into shown from previews where service_id = new.service_id;
      insert into forge_reports as r (id, hook_id, service_id, kind, subject)
      select gen_random_uuid(), t.id, about.service_id, about.kind, about.subject
        from forge_targets t
       cross join lateral (values ('status', new.service_id, new.commit_sha), ('deployment', new.service_id, new.id::text),
                                  ('comment', t.service_id, shown.pull_number::text)) as about (kind, service_id, subject)
       where t.service_id = coalesce(shown.base_id, new.service_id) and about.subject is not null
         and (about.kind <> 'deployment' or t.forge = 'github')
         and (new.trigger = 'commit' or shown.service_id is not null
              or exists (select from forge_reports o where o.hook_id = t.id and o.service_id = new.service_id
                            and o.kind = 'status' and o.subject = new.commit_sha))
         -- Without the lock, a hook that is deleted meanwhile would make the deployment's statement fail.
         for key share of t
      on conflict (hook_id, service_id, kind, subject) do update set ${RENEW};
      if new.status = 'live' then
        -- An earlier deployment is no longer the active one.
        update forge_reports r set ${RENEW} from forge_targets t
         where t.service_id = coalesce(shown.base_id, new.service_id) and r.hook_id = t.id and r.service_id = new.service_id
           and r.kind = 'deployment' and r.subject <> new.id::text and r.sent ->> 'state' = 'success';
      end if;
      return null;
    end $$;
    create trigger deployments_report_inserted after insert on deployments
      for each row when (new.commit_sha <> '') execute function report_deployment();
    create trigger deployments_report_updated after update of status on deployments
      for each row when (new.commit_sha <> '' and old.status is distinct from new.status and new.status not in ('prepared', 'switched'))
      execute function report_deployment();

    -- A preview shows another pull request, or ends. For its end only existing rows change: rows that a deletion inserts
    -- could refer to others that it deletes.
    create function report_preview() returns trigger language plpgsql as $$
    begin
      update forge_reports r set ${RENEW} from forge_targets t
       where t.service_id = old.base_id and r.hook_id = t.id
         and ((r.kind = 'comment' and r.service_id = t.service_id and r.subject = old.pull_number::text)
              or (tg_op = 'DELETE' and r.kind = 'deployment' and r.service_id = old.service_id
                  and r.sent ->> 'state' = 'success'));
      if tg_op = 'UPDATE' and new.pull_number is distinct from old.pull_number then
        insert into forge_reports as r (id, hook_id, service_id, kind, subject)
        select gen_random_uuid(), t.id, t.service_id, 'comment', new.pull_number::text
          from forge_targets t where t.service_id = new.base_id and new.pull_number is not null
           for key share of t
        on conflict (hook_id, service_id, kind, subject) do update set ${RENEW};
      end if;
      return null;
    end $$;
    create trigger previews_report_deleted after delete on previews for each row execute function report_preview();
    create trigger previews_report_updated after update of pull_number, closed_at on previews
      for each row when (old.pull_number is distinct from new.pull_number or old.closed_at is distinct from new.closed_at)
      execute function report_preview();
  `);
}
