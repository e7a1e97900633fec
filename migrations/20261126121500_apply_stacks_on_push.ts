import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The user who made a hook whose pushes apply ranvier.yaml; null if they apply no file.
    alter table hooks add column stack_by uuid,
      -- True if this user could change protected environments then: the applies of the hook may do so too.
      add column reads_protected boolean not null default false;
    create index hooks_stack on hooks (service_id) where stack_by is not null;

    -- The newest commit of a branch whose ranvier.yaml was applied. The service is that of the hook.
    create table stack_heads (
      service_id uuid not null references services on delete cascade,
      branch text not null,
      commit_sha text not null,
      primary key (service_id, branch)
    );
  `);
}
