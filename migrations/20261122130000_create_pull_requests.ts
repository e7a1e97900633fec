import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Pull requests (merge requests) of a service's repository, as its server has reported them.
    create table pull_requests (
      id uuid primary key,
      service_id uuid not null references services on delete cascade,
      number integer not null,
      -- The ref of the service's own repository that has the newest commit, also if the branch is in a fork.
      ref text not null,
      title text not null,
      author text not null,
      branch text not null,
      target text not null,
      -- The branch is in another repository than the service's: nothing of it runs before a member approves the commit.
      fork boolean not null,
      head_sha text not null,
      open boolean not null,
      -- The change that the newest report tells of, by the clock of the repository's server. Older reports are dropped.
      reported_at timestamptz(3) not null,
      -- What a member decided about the commit of a fork: '', 'approved' or 'declined'.
      decision text not null default '',
      decided_sha text not null default '',
      decided_by text not null default '',
      decided_at timestamptz(3),
      -- When the preview is tried again that could not be made.
      retry_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    create unique index pull_requests_number on pull_requests (service_id, number);
    create index pull_requests_branch on pull_requests (service_id, branch);
    create index pull_requests_listed on pull_requests (service_id, created_at desc, id desc);
    create index pull_requests_retry on pull_requests (retry_at) where retry_at is not null;
    create index pull_requests_closed on pull_requests (updated_at) where not open;

    alter table previews
      -- The pull request that it shows, if one is known.
      add column pull_number integer,
      -- It shows a commit of a fork: it has no variables, no private network, and follows nothing by itself.
      add column fork boolean not null default false,
      -- Why and when its branch or its pull request came to its end; it is deleted then.
      add column closed_at timestamptz(3),
      add column closed_reason text not null default '',
      -- When its branch was first not found in the repository.
      add column missing_at timestamptz(3);
    create index previews_pull on previews (base_id, pull_number) where pull_number is not null;

    -- When the branches of the service's repository were first noted, for previews of the branches that come after.
    alter table commit_watches add column branches_at timestamptz(3);
    create index services_automatic_previews on services (id)
      where configuration ->> 'previewMode' = 'automatic' and deleted_at is null;
  `);
}
