import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The user who made a hook whose pushes apply ranvier.yaml; null if they apply no file.
    alter table hooks add column stack_by uuid,
      -- True if this user could change protected environments then: the applies of the hook may do so too.
      add column reads_protected boolean not null default false;
    create index hooks_stack on hooks (service_id) where stack_by is not null;

    -- The newest commit whose ranvier.yaml was applied; empty if there is none.
    alter table commit_heads add column applied_sha text not null default '';
  `);
}
