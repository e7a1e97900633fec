import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table domains (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      service_id uuid not null references services on delete cascade,
      -- In lower case and in ASCII, without a dot at the end.
      hostname text not null,
      status text not null default 'pending',
      -- What the last look at the name servers found, for people.
      detail text not null default '',
      -- False if the host name leads to addresses that are not those of the edges. It gets no certificate then.
      leads_here boolean not null default true,
      -- Since when the record that proves the owner has been missing.
      missing_since timestamptz(3),
      next_check_at timestamptz(3) not null default now(),
      -- When its service was deleted. No other workspace gets the name for some days after that.
      released_at timestamptz(3),
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    -- A workspace has a name once.
    create unique index domains_of_workspace on domains (workspace_id, hostname) where released_at is null;
    -- A name serves one service of the installation.
    create unique index domains_active on domains (hostname) where status = 'active' and released_at is null;
    -- Finds the names that were released within the last days.
    create index domains_released on domains (hostname) where released_at is not null;
    -- Lists the names of a service.
    create index domains_service on domains (service_id, created_at desc, id desc);
    -- Finds the names that are due for a look at the name servers.
    create index domains_due on domains (next_check_at) where released_at is null;
  `);
}
