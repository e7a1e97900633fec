import { v7 as uuidv7 } from 'uuid';
import { insertBackup } from '../../shared/backups/store.js';
import { insertCommitEvent } from '../../shared/commits/store.js';
import { insertDetection } from '../../shared/detections/store.js';
import { ABANDONED, defineKind, RECORD_QUEUE, type WorkKind } from '../../shared/engine/kind.js';
import type { WorkRow } from '../../shared/engine/transition.js';
import { insertOperation } from '../../shared/operations/store.js';
import { insertApply } from '../../shared/stacks/store.js';
import type { Outcome, Work } from '../../workers/engine/perform-record.js';
import { insertLogBatches } from '../../workers/logs/batch-store.js';
import { makeService } from './factories.js';
import { newEnvironment, pretendLive } from './records.js';
import type { TestWorkshop } from './workshop.js';

export type Row = WorkRow & { error: string; due_at: Date | null; finished_at: Date | null };

/** A kind of work for tests, which uses every rule of the engine. No queue has its jobs. */
export const SAMPLE = defineKind({
  table: 'sample_work',
  payload: 'sampleId',
  queues: { sample: RECORD_QUEUE },
  lease: {
    states: {
      queued: { claimed: 'running', cancelled: 'cancelled' },
      running: {
        ...{ claimed: 'running', released: 'queued', handedBack: 'running', retried: 'queued' },
        ...{ succeeded: 'succeeded', failed: 'failed', cancelled: 'cancelled' },
      },
      succeeded: {},
      failed: {},
      cancelled: {},
    },
    cancellable: true,
    aloneInWorkspace: 'true',
  },
  abandoned: ABANDONED,
});
export const SAMPLE_TABLE = `create table sample_work (
  id uuid primary key, workspace_id uuid not null, status text not null default 'queued', error text not null default '',
  fence bigint not null default 0, worker_id uuid, lease_expires_at timestamptz, cancel_requested_at timestamptz,
  due_at timestamptz, dispatches integer not null default 1, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(), finished_at timestamptz)`;

/** State → the event that leads to the next one, for a kind whose work has several steps. */
export const ROAD: Record<string, string> = {
  queued: 'imageFound',
  releasing: 'routeSwitched',
  switched: 'edgesConfirmed',
};

export const done = async ({ record }: Work<Row>): Promise<Outcome> => ({ event: ROAD[record.status] ?? 'succeeded' });
type Maker = (workshop: TestWorkshop, workspaceId: string) => Promise<string>;

async function serviceIn({ database: { db } }: TestWorkshop, id: string) {
  const workspace = await db('workspaces').where({ id }).first();
  return makeService(db, workspace, { plan: 'starter' }, 'redis');
}

const MAKERS: Record<string, Maker> = {
  operations: async (workshop, workspaceId) => {
    const { id: serviceId } = await serviceIn(workshop, workspaceId);
    // An operation of this kind waits until no other runs in its workspace.
    const input = { workspaceId, serviceId, kind: 'restore' as const, actor: 'test' };
    return (await workshop.database.db.transaction((trx) => insertOperation(trx, input))).id;
  },
  backups: async (workshop, workspaceId) => {
    const input = { service: await serviceIn(workshop, workspaceId), trigger: 'manual' as const, actor: '' };
    const row = await workshop.database.db.transaction((trx) => insertBackup(trx, { ...input, scheduledFor: null }));
    return row?.id ?? '';
  },
  runs: async (workshop, workspaceId) => {
    const { id: service_id } = await serviceIn(workshop, workspaceId);
    const { db } = workshop.database;
    const place = { service_id, workspace_id: workspaceId, deployment_id: await pretendLive(db, service_id) };
    const when = { timeout_seconds: 60, max_retries: 0, scheduled_at: new Date(), admitted_at: new Date() };
    const id = uuidv7();
    await db('runs').insert({ id, ...place, ...when, trigger: 'manual', dispatches: 1 });
    return id;
  },
  deployments: async (workshop, workspaceId) => {
    const { id } = await workshop.deployment({}, await serviceIn(workshop, workspaceId));
    return id;
  },
  log_batches: async (workshop, workspaceId) => {
    const { id: serviceId } = await serviceIn(workshop, workspaceId);
    const lines = [{ level: 'info' as const, message: 'a line', timestamp: new Date().toISOString() }];
    return insertLogBatches(workshop.database.db, [{ serviceId, deploymentId: null, source: 'system', lines }]);
  },
  detections: async ({ database: { db } }, workspaceId) => {
    const id = uuidv7();
    const source = {
      workspace_id: workspaceId,
      sealed_repository: Buffer.alloc(1),
      branch: 'main',
      root_directory: '',
    };
    await db.transaction((trx) => insertDetection(trx, { id, ...source }));
    return id;
  },
  commit_events: async (workshop, workspaceId) => {
    const { id: service_id } = await serviceIn(workshop, workspaceId);
    return (await insertCommitEvent(workshop.database.db, { service_id, kind: 'push', actor: '' })) ?? '';
  },
  template_sources: async ({ database: { db } }, workspaceId) => {
    const id = uuidv7();
    const source = { workspace_id: workspaceId, name: id, sealed_repository: Buffer.alloc(1), branch: 'main' };
    await db('template_sources').insert({ id, ...source, dispatches: 1, due_at: db.fn.now() });
    return id;
  },
  forge_reports: async (workshop, workspaceId) => {
    const { db } = workshop.database;
    const { id: service_id } = await serviceIn(workshop, workspaceId);
    const [hook_id, id] = [uuidv7(), uuidv7()];
    await db('hooks').insert({ id: hook_id, service_id, provider: 'gitea', sealed_secret: Buffer.alloc(1) });
    const target = { forge: 'gitea', api_url: 'https://git.example.com/api/v1', project: 'team/shop' };
    const place = { workspace_id: workspaceId, service_id };
    await db('forge_targets').insert({ id: hook_id, ...place, ...target, sealed_token: Buffer.alloc(1) });
    await db('forge_reports').insert({ id, hook_id, service_id, kind: 'status', subject: 'a'.repeat(40) });
    return id;
  },
  stack_applies: async ({ database: { db } }, workspaceId) => {
    const { environmentId } = await newEnvironment(db, workspaceId);
    const [stack_id, id] = [uuidv7(), uuidv7()];
    const place = { workspace_id: workspaceId, environment_id: environmentId };
    await db('stacks').insert({ id: stack_id, ...place, name: `stack-${stack_id}` });
    const asked = { actor: 'test', together: false, reads_protected: false, sealed_steps: Buffer.alloc(1) };
    const plan = { changes: [], deploys: [], warnings: [] };
    const steps = [{ op: 'stack.delete' as const }];
    await db.transaction((trx) => insertApply(trx, { id, workspace_id: workspaceId, stack_id, ...asked, plan, steps }));
    return id;
  },
  sample_work: async ({ database: { db } }, workspaceId) => {
    const id = uuidv7();
    await db('sample_work').insert({ id, workspace_id: workspaceId, due_at: db.fn.now() });
    return id;
  },
};

/** Returns a function that creates a record of this kind in a workspace, and returns its id. */
export function recordMaker({ table }: WorkKind): Maker {
  const make = MAKERS[table];
  if (make === undefined) throw new Error(`write how a test makes a record of ${table}`);
  return make;
}
