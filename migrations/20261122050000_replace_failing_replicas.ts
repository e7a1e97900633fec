import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table replicas
      -- Since when the replica fails its health check; null if it passes.
      add column failing_since timestamptz(3),
      -- The answer of the last check that failed; '' if the last one passed.
      add column health_answer text not null default '',
      -- When a replica that goes on failing is replaced; null if it passes.
      add column replace_at timestamptz(3),
      -- How often in a row this place was replaced. The wait before the next replacement grows with it.
      add column replacements integer not null default 0,
      -- True if the last replacement beside this replica did not become healthy: the next try restarts it in its place.
      add column surge_failed boolean not null default false,
      -- The failing replica whose place this one takes once it is healthy; null for every other replica.
      add column replaces uuid;
  `);
}
