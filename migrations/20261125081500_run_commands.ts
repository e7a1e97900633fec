import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table runs
      -- The command that a person or a deployment asked for; null if the run carries out the service's own.
      add column command text,
      -- The plan whose processor and memory it has; null for that of the release.
      add column plan text;
    -- A deployment has one run of its pre-deploy command, however many workers work on it.
    create unique index runs_deployment on runs (deployment_id) where trigger = 'deployment';

    -- The run that has printed a line.
    alter table log_batches add column run_id uuid;
    alter table log_lines add column run_id uuid;
    create index log_lines_run on log_lines (service_id, run_id, id) where run_id is not null;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop index log_lines_run;
    alter table log_lines drop column run_id;
    alter table log_batches drop column run_id;
    drop index runs_deployment;
    alter table runs drop column plan, drop column command;
  `);
}
