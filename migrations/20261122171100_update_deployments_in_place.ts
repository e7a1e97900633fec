import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A row whose indexed columns stay can be updated without a new entry in every index. When an image went live is read
    -- from its few deployments, so that a switch of the route changes no index.
    create index deployments_of_image on deployments (image_id) where image_id is not null;
    drop index deployments_image;

    -- A change of status in between counts nothing: the function need not be called to find that out.
    drop trigger deployments_count_updated on deployments;
    create trigger deployments_count_updated after update of status on deployments
      for each row when (old.status is distinct from new.status
                         and (old.finished_at is not null or new.finished_at is not null))
      execute function count_updated_deployment();
  `);
}
