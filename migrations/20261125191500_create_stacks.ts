import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- An environment, or a part of it, that a document describes.
    create table stacks (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      environment_id uuid not null references environments on delete cascade,
      name text not null,
      -- What the last accepted apply asked for, sealed because it has values of variables; null before the first one.
      sealed_document bytea,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now(),
      deleted_at timestamptz(3)
    );
    create unique index stacks_name on stacks (workspace_id, name) where deleted_at is null;
    create index stacks_environment on stacks (environment_id);

    -- The services and groups of a stack. Each belongs to one stack.
    create table stack_resources (
      stack_id uuid not null references stacks on delete cascade,
      service_id uuid unique references services on delete cascade,
      group_id uuid unique references environment_groups on delete cascade,
      -- Its name in the document; null if the document does not name it any more.
      name text,
      constraint stack_resources_one check ((service_id is null) <> (group_id is null))
    );
    create index stack_resources_stack on stack_resources (stack_id);

    create table stack_applies (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      stack_id uuid not null references stacks on delete cascade,
      status text not null default 'queued',
      error text not null default '',
      -- Who asked for it, and whether this person may read values of protected environments.
      actor text not null,
      reads_protected boolean not null,
      -- What was shown: changes, deploys and warnings of the plan, without values of variables.
      plan jsonb not null,
      -- The steps with the values that they write; erased at the end.
      sealed_steps bytea,
      cancel_requested_at timestamptz(3),
      -- The lease and the job, as in operations.
      fence bigint not null default 0,
      worker_id uuid,
      lease_expires_at timestamptz(3),
      due_at timestamptz,
      dispatches integer not null default 0,
      created_at timestamptz(3) not null default now(),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      updated_at timestamptz(3) not null default now(),
      constraint stack_applies_end check ((finished_at is not null) = (status in ('succeeded', 'failed', 'cancelled')))
    );
    -- At most one apply of a stack at a time.
    create unique index stack_applies_open on stack_applies (stack_id) where finished_at is null;
    create index stack_applies_listing on stack_applies (stack_id, created_at desc, id desc);
    create index stack_applies_due on stack_applies (due_at) where due_at is not null;
    create index stack_applies_abandoned on stack_applies (created_at) where finished_at is null;

    -- The journal of an apply: a step is done in the transaction that makes its change.
    create table stack_steps (
      apply_id uuid not null references stack_applies on delete cascade,
      -- From 0, in the order in which they are done.
      position integer not null,
      op text not null,
      -- The resource, as plans name it.
      name text not null,
      status text not null default 'pending',
      error text not null default '',
      -- The service or group that the step has made or changed.
      resource_id uuid,
      -- The deployment that the step has queued.
      deployment_id uuid references deployments on delete set null,
      finished_at timestamptz(3),
      primary key (apply_id, position)
    );
    create index stack_steps_deployment on stack_steps (deployment_id) where deployment_id is not null;
  `);
}
