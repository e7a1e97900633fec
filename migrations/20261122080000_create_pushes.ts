import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The repositories of services that are deployed by git push. Their files are below DATA_DIR/pushed of an API host.
    create table pushed_repositories (
      service_id uuid primary key references services on delete cascade,
      -- Which folder holds it (DATA_DIR/pushed/id). An API process with another folder refuses pushes and fetches.
      folder_id uuid not null,
      size_bytes bigint not null default 0,
      -- Null until something was pushed.
      pushed_at timestamptz(3),
      -- Pushes since the repository was packed last.
      unpacked integer not null default 0,
      created_at timestamptz(3) not null default now()
    );

    -- Pushed commits that are being deployed. The branch moves to the commit once its deployment is live.
    create table pushes (
      -- The id of the deployment.
      id uuid primary key references deployments on delete cascade,
      service_id uuid not null references services on delete cascade,
      folder_id uuid not null,
      ref text not null,
      commit_sha text not null,
      created_at timestamptz(3) not null default now(),
      -- When the branch was moved, or the commit given up.
      settled_at timestamptz(3),
      moved boolean not null default false
    );
    -- Pushing a commit again while it is being deployed follows the same deployment.
    create unique index pushes_open on pushes (service_id, ref, commit_sha) where settled_at is null;
    create index pushes_unsettled on pushes (folder_id) where settled_at is null;
    create index pushes_moved on pushes (service_id, ref, id) where moved;
  `);
}
