import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- How many deployments have ended in each status: the sum of the rows. Each end adds a row, so that no two transactions
    -- wait for each other; a sweep adds rows up. Counting the deployments themselves takes longer with each of them.
    create table deployment_counts (
      id bigint generated always as identity primary key,
      status text not null,
      count bigint not null
    );
    insert into deployment_counts (status, count)
    select status, count(*) from deployments where finished_at is not null group by status;

    create function count_inserted_deployments() returns trigger language plpgsql as $$
    begin
      insert into deployment_counts (status, count)
      select status, count(*) from changed where finished_at is not null group by status;
      return null;
    end $$;
    create function count_deleted_deployments() returns trigger language plpgsql as $$
    begin
      insert into deployment_counts (status, count)
      select status, -count(*) from changed where finished_at is not null group by status;
      return null;
    end $$;
    create function count_updated_deployment() returns trigger language plpgsql as $$
    begin
      if old.finished_at is not null then
        insert into deployment_counts (status, count) values (old.status, -1);
      end if;
      if new.finished_at is not null then
        insert into deployment_counts (status, count) values (new.status, 1);
      end if;
      return null;
    end $$;
    create trigger deployments_count_inserted after insert on deployments
      referencing new table as changed for each statement execute function count_inserted_deployments();
    create trigger deployments_count_deleted after delete on deployments
      referencing old table as changed for each statement execute function count_deleted_deployments();
    create trigger deployments_count_updated after update of status on deployments
      for each row when (old.status is distinct from new.status) execute function count_updated_deployment();

    -- Finds the deployments that ended last, for the durations of their steps.
    create index deployments_ended on deployments (finished_at) where finished_at is not null;
  `);
}
