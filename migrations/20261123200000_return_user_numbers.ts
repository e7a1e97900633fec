import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Numbers of services that are gone. Another service takes one after this time, when nothing of the old one is left on any host.
    create table freed_user_numbers (
      number integer primary key,
      free_from timestamptz(3) not null
    );
    create index freed_user_numbers_order on freed_user_numbers (free_from);
    insert into freed_user_numbers (number, free_from)
      select user_number, deleted_at + interval '6 hours' from services where deleted_at is not null;

    alter table services alter column user_number drop identity;
    create sequence service_user_numbers;
    select setval('service_user_numbers', coalesce(max(user_number), 0) + 1, false) from services;

    -- A host has few numbers, so a new one is made only if none is free.
    create function take_user_number() returns trigger language plpgsql as $$
    begin
      delete from freed_user_numbers
       where number = (select number from freed_user_numbers where free_from <= now() order by free_from limit 1
                          for update skip locked)
      returning number into new.user_number;
      new.user_number := coalesce(new.user_number, nextval('service_user_numbers'));
      return new;
    end $$;
    create trigger services_user_number before insert on services for each row execute function take_user_number();
  `);
}
