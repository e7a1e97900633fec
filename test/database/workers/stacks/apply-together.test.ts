import { expect } from 'chai';
import { acceptRollback } from '../../../../api/resources/stacks/rollback/rollback-route.js';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { acceptApply } from '../../../../shared/stacks/accept-apply.js';
import type { ApplyRow } from '../../../../shared/stacks/model.js';
import { planDocument } from '../../../../shared/stacks/plan-document.js';
import { findStack } from '../../../../shared/stacks/store.js';
import { addVolume } from '../../../../shared/volumes/commands.js';
import { performDeployment } from '../../../../workers/deploy/perform-deployment.js';
import { applyJob } from '../../../../workers/stacks/apply-job.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeWorkspace } from '../../../support/factories.js';
import { newEnvironment, pretendLive } from '../../../support/records.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

const REPOSITORY = 'https://git.example.com/shop.git';

describe('An apply with release: together', () => {
  let workshop: TestWorkshop;
  let db: Db;
  let worker: JobDeps;
  let place: { workspaceId: string; environmentId: string };
  const asked = { actor: 'a@example.com', authorize: () => undefined, needEngine: () => undefined };

  useTestWorkshop((opened) => ({ workshop, db, worker } = opened));
  beforeEach(async () => {
    const { id: workspaceId } = await makeWorkspace(db);
    place = { workspaceId, environmentId: (await newEnvironment(db, workspaceId)).environmentId };
  });

  const services = (port: number) => ({
    a: { kind: 'web', repository: REPOSITORY, port },
    b: { kind: 'private', repository: REPOSITORY, port },
    jobs: { kind: 'worker', repository: REPOSITORY, port },
  });

  function accept(parts: object): Promise<string> {
    return db.transaction(async (trx) => {
      const document = JSON.stringify({ release: 'together', ...parts });
      const request = { ...place, name: 'shop', document, values: {}, ...asked };
      const { plan } = await planDocument(trx, worker, request);
      return acceptApply(trx, worker, { ...request, planHash: plan.hash, confirmDestructive: 'shop' });
    });
  }
  const goBack = (applyId: string) =>
    db.transaction(async (trx) => {
      const stack = await findStack(trx, place.workspaceId, 'shop');
      if (stack === undefined) throw new Error('no stack');
      return acceptRollback(trx, worker, { stack, applyId, ...asked });
    });
  const job = (applyId: string) => applyJob(worker, { applyId }, jobHelpers()).catch((error: Error) => error.message);
  const apply = async (id: string): Promise<ApplyRow> => {
    const row = await db<ApplyRow>('stack_applies').where({ id }).first();
    if (row === undefined) throw new Error('no apply');
    return row;
  };
  const open = async (): Promise<{ id: string; name: string; kind: string; together_id: string | null }[]> => {
    await db('deployments')
      .where({ workspace_id: place.workspaceId, finished_at: null })
      .update({ admitted_at: db.fn.now() });
    return db('deployments as d')
      .join('services as s', 's.id', 'd.service_id')
      .where('d.workspace_id', place.workspaceId)
      .whereNull('d.finished_at')
      .orderBy('s.name')
      .select('d.id', 's.name', 's.kind', 'd.together_id');
  };
  async function deploy(): Promise<void> {
    for (const { id } of await open()) await performDeployment(worker, id, jobHelpers()).catch(() => undefined);
    for (const { id } of await open()) await performDeployment(worker, id, jobHelpers()).catch(() => undefined);
  }
  async function done(id: string): Promise<ApplyRow> {
    await job(id);
    await deploy();
    await job(id);
    return apply(id);
  }
  const live = async () =>
    db('services as s')
      .join('deployments as d', 'd.id', 's.live_deployment_id')
      .where('s.workspace_id', place.workspaceId)
      .orderBy('s.name')
      .select('s.name', 'd.together_id as applyId', db.raw(`d.configuration ->> 'port' as port`));

  it('succeeds once all its services went live together, of every kind', async () => {
    const id = await accept({ services: services(3000) });
    expect(await done(id)).to.include({ status: 'succeeded', error: '', together: true });
    expect(await live()).to.deep.equal(['a', 'b', 'jobs'].map((name) => ({ name, applyId: id, port: '3000' })));
  });

  it('fails with the name of the service that did not become healthy; the old releases stay', async () => {
    const first = await accept({ services: services(3000) });
    await done(first);
    const second = await accept({ services: services(4000) });
    const b = await db('services').where({ workspace_id: place.workspaceId, name: 'b' }).first();
    workshop.runtime.script(b.id, { fail: 'exited with code 1' });
    const ended = await done(second);
    expect(ended).to.include({ status: 'failed' });
    expect(ended.error).to.equal(
      'no service of the stack went live, because the deployment of b failed: release: replica 1 exited with code 1 before it was healthy',
    );
    expect((await live()).map(({ port }) => port)).to.deep.equal(['3000', '3000', '3000']);

    // A second apply of the same document deploys all services again, because none went live.
    workshop.runtime.script(b.id, {});
    const third = await accept({ services: services(4000) });
    expect((await apply(third)).plan).to.deep.equal({
      changes: [],
      deploys: ['a', 'b', 'jobs'],
      warnings: ['a', 'b', 'jobs'].map((name) => `${name} is deployed because the last apply ended before it was live`),
    });
    expect(await done(third)).to.include({ status: 'succeeded' });
    expect((await live()).map(({ port }) => port)).to.deep.equal(['4000', '4000', '4000']);
    expect((await apply(await accept({ services: services(4000) }))).plan.deploys).to.deep.equal([]);
  });

  it('that failed at a step is gone on with, except for what was deployed since', async () => {
    await done(await accept({ services: services(3000) }));
    const second = await accept({ services: services(4000) });
    const named = (name: string) => db('services').where({ workspace_id: place.workspaceId, name });
    await named('jobs').update({ archived: true });
    expect(await done(second)).to.include({ status: 'failed' });
    expect((await live()).map(({ port }) => port)).to.deep.equal(['3000', '3000', '3000']);
    await named('jobs').update({ archived: false });
    const [a] = await named('a');
    await pretendLive(db, a.id);
    expect((await apply(await accept({ services: services(4000) }))).plan.deploys).to.deep.equal(['b', 'jobs']);
  });

  it('deploys databases alone, for which the others wait', async () => {
    await db('workers').update({ data_kinds: ['postgres'], seen_at: db.fn.now() });
    const id = await accept({
      services: { a: { ...services(3000).a, variables: { DB: { reference: { service: 'db', key: 'URL' } } } } },
      databases: { db: { kind: 'postgres' } },
    });
    await job(id);
    expect((await open()).map(({ name, together_id }) => [name, together_id])).to.deep.equal([
      ['a', id],
      ['db', null],
    ]);
    const [, database] = await open();
    const ended = { status: 'failed', error: 'build: no room', finished_at: db.fn.now() };
    // Deployments that wait for a database are not admitted, so the apply itself ends them.
    await db('deployments').where({ together_id: id }).update({ admitted_at: null });
    await db('deployments').where({ id: database?.id }).update(ended);
    await job(id);
    expect(await open()).to.deep.equal([]);
    await job(id);
    expect((await apply(id)).error).to.contain('because the deployment of db failed: build: no room');
  });

  it('does not deploy a service that got a volume meanwhile', async () => {
    await done(await accept({ services: services(3000) }));
    const second = await accept({ services: services(4000) });
    const a = await db('services').where({ workspace_id: place.workspaceId, name: 'a' }).first();
    await db.transaction((trx) => addVolume(trx, a, { name: 'data', mountPath: '/data', sizeGb: 1 }));
    await job(second);
    expect((await apply(second)).error).to.match(/^service\.deploy a: a has a volume, /);
  });

  it('is gone back to as a whole, by an apply that brings all releases back together', async () => {
    const first = await accept({ services: services(3000) });
    await done(first);
    await done(await accept({ services: services(4000) }));
    expect((await live()).map(({ port }) => port)).to.deep.equal(['4000', '4000', '4000']);
    const back = await goBack(first);
    expect(await done(back)).to.include({ status: 'succeeded', error: '', rollback_of: first, together: true });
    expect(await live()).to.deep.equal(['a', 'b', 'jobs'].map((name) => ({ name, applyId: back, port: '3000' })));
    const rows = await db('deployments').where({ together_id: back });
    expect(new Set(rows.map(({ went_live_at }) => went_live_at.getTime())).size).to.equal(1);
    expect(await apply(await goBack(back)), 'it is there already').to.include({ status: 'succeeded' });
  });
});
