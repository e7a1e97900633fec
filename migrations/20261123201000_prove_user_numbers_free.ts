import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table freed_user_numbers
      -- The service that had the number, and its workspace; null if the number was lost.
      add column service_id uuid,
      add column workspace_id uuid,
      -- No host ever knew the number.
      add column untouched boolean not null default false;
    create index freed_user_numbers_workspace on freed_user_numbers (workspace_id, free_from);
    -- No host has looked yet.
    update freed_user_numbers f set service_id = s.id, workspace_id = s.workspace_id, free_from = now() + interval '6 hours'
      from services s where s.user_number = f.number and s.deleted_at is not null;

    -- Every host that ever had a worker, and when it last began to look for what freed numbers still own there.
    create table user_number_hosts (
      host_id uuid primary key,
      looked_at timestamptz(3) not null default '-infinity'
    );
    insert into user_number_hosts (host_id)
      select host_id from workers union select host_id from replicas
      union select host_id from data_servers where host_id is not null;
    create function note_user_number_host() returns trigger language plpgsql as $$
    begin
      insert into user_number_hosts (host_id) values (new.host_id) on conflict do nothing;
      return null;
    end $$;
    create trigger workers_user_number_host after insert on workers for each row execute function note_user_number_host();

    create unique index services_user_numbers on services (user_number) where deleted_at is null;

    -- A number is free if the volume and the backups of its service are gone, and every host has looked after the rest and found nothing.
    create or replace function take_user_number() returns trigger language plpgsql as $$
    begin
      delete from freed_user_numbers
       where number = (
         select number from freed_user_numbers f
          where free_from <= now()
            and (untouched or free_from < (select coalesce(min(looked_at), 'infinity') from user_number_hosts))
            and not exists (select from data_servers d where d.id = f.service_id and d.host_id is not null)
            and not exists (select from backups b where b.service_id = f.service_id)
            and not exists (select from services s where s.user_number = f.number and s.deleted_at is null)
          order by free_from limit 1 for update skip locked)
      returning number into new.user_number;
      new.user_number := coalesce(new.user_number, nextval('service_user_numbers'));
      return new;
    end $$;
  `);
}
