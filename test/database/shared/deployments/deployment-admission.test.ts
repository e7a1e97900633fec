import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { admitDeployments, recordWaitingReasons } from '../../../../shared/deployments/deployment-admission.js';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import type { WorkspaceRow } from '../../../../shared/workspaces/model.js';
import { makeDeployment, makeService, makeWorker, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { claimDeployment, readRow, updateRow } from '../../../support/records.js';

describe('Admission', () => {
  const database = useTestDatabase();
  let workspace: WorkspaceRow;
  beforeEach(async () => {
    await database.db.raw('truncate workspaces, workers cascade');
    workspace = await makeWorkspace(database.db, { buildConcurrency: 2 });
  });

  const admit = async () => (await admitDeployments(database.db)).length;
  const queued = async (of = workspace) => makeDeployment(database.db, await makeService(database.db, of));

  const read = (id: string) => readRow<DeploymentRow>(database.db, 'deployments', { id });

  const line = (workspaceId: string) => database.db('admission_lines').where({ workspace_id: workspaceId }).first();

  it('makes the first job of a deployment due, and its claim ends that', async () => {
    await makeWorker(database.db, 1);
    const { id } = await queued();
    expect(await admit()).to.equal(1);
    const row = await read(id);
    expect(row).to.include({ dispatches: 1, blocked_reason: '' });
    expect(row.due_at).to.be.instanceOf(Date);
    expect(await admit(), 'it is admitted once').to.equal(0);
    const worker = await makeWorker(database.db, 1);
    expect((await claimDeployment(database.db, id, worker))?.due_at).to.equal(null);
  });

  it('counts running deployments against the slots of the workers and the concurrency of the workspace', async () => {
    await makeWorker(database.db, 3);
    const other = await makeWorkspace(database.db, { buildConcurrency: 5 });
    await queued();
    await queued(other);
    expect(await admit()).to.equal(2);
    for (const of of [workspace, workspace, other, other]) await queued(of);
    expect(await admit(), 'one slot is left').to.equal(1);
    expect(await admit()).to.equal(0);
    await makeWorker(database.db, 10);
    expect(await admit(), 'the concurrency of the workspace counts what runs').to.equal(2);
    const running = await database.db('deployments').where({ workspace_id: workspace.id }).whereNotNull('admitted_at');
    expect(running).to.have.length(2);
  });

  it('counts what runs of a workspace whenever it lets more of it run', async () => {
    await makeWorker(database.db, 10);
    await queued();
    expect(await admit()).to.equal(1);
    await queued();
    await queued();
    expect(await admit(), 'the second of two').to.equal(1);
    expect(await admit()).to.equal(0);
  });

  it('gives the places of deployments that have ended to others', async () => {
    await makeWorker(database.db, 1);
    const first = await queued();
    await admit();
    const second = await queued();
    expect(await admit()).to.equal(0);
    await database.db('deployments').where({ id: first.id }).update({ finished_at: new Date(), status: 'live' });
    expect(await admit()).to.equal(1);
    expect((await read(second.id)).admitted_at).to.be.instanceOf(Date);
  });

  it('gives the slot of a deployment whose route has moved to another workspace, and not its place in its own', async () => {
    await makeWorker(database.db, 1);
    const alone = await makeWorkspace(database.db, { buildConcurrency: 1 });
    const first = await queued(alone);
    expect(await admit()).to.equal(1);
    const second = await queued(alone);
    const other = await queued();
    await database.db('deployments').where({ id: first.id }).update({ status: 'switched' });
    expect(await admit()).to.equal(1);
    expect((await read(second.id)).admitted_at).to.equal(null);
    expect((await read(other.id)).admitted_at).to.be.instanceOf(Date);
    expect(await admit(), 'one more than there are slots').to.equal(0);
  });

  it('gives the slot and the place of a deployment that waits for others to its workspace, which is told at once', async () => {
    await makeWorker(database.db, 1);
    const alone = await makeWorkspace(database.db, { buildConcurrency: 1 });
    const [first, second] = [await queued(alone), await queued(alone)];
    const service = { service_id: first.service_id };
    const again = await queued(alone);
    await database.db('deployments').where({ id: again.id }).update(service);
    expect(await admit()).to.equal(1);
    expect(await admit(), 'a look that finds nothing').to.equal(0);
    await database.db('deployments').where({ id: first.id }).update({ status: 'prepared' });
    expect(await line(alone.id)).to.include({ active: 0, ready: true });
    expect(await admit()).to.equal(1);
    expect((await read(second.id)).admitted_at).to.be.instanceOf(Date);
    expect((await read(again.id)).admitted_at, 'one of a service at a time').to.equal(null);
    expect(await line(alone.id)).to.include({ active: 1 });
    const ended = { status: 'failed', finished_at: new Date() };
    await database.db('deployments').whereIn('id', [first.id, second.id]).update(ended);
    expect(await line(alone.id)).to.include({ active: 0 });
    expect(await admit()).to.equal(1);
  });

  it('counts no slots of workers that have been silent for more than 15 seconds', async () => {
    await makeWorker(database.db, 1);
    const { id } = await queued();
    await database.db.raw(`update workers set seen_at = now() - interval '16 seconds'`);
    expect(await admit()).to.equal(0);
    await database.db.transaction((trx) => recordWaitingReasons(trx));
    expect((await read(id)).blocked_reason).to.equal('No worker is online');
    await database.db.raw(`update workers set seen_at = now() - interval '10 seconds'`);
    expect(await admit()).to.equal(1);
  });

  it('leaves out a deployment whose cancellation was requested', async () => {
    await makeWorker(database.db, 2);
    const { id } = await queued();
    await database.db('deployments').where({ id }).update({ cancel_requested_at: new Date() });
    expect(await admit()).to.equal(0);
    expect((await read(id)).admitted_at).to.equal(null);
  });

  it('waits for nobody: neither for a request that is not stored yet, nor for a cancellation', async () => {
    await makeWorker(database.db, 5);
    const asked = await makeService(database.db, workspace);
    const [cancelled, other] = [
      await queued(await makeWorkspace(database.db)),
      await queued(await makeWorkspace(database.db)),
    ];
    const request = await database.db.transaction();
    await request('deployments').insert({
      ...{ id: uuidv7(), workspace_id: workspace.id, service_id: asked.id, trigger: 'manual', actor: 'test' },
      configuration: {},
    });
    const cancel = await database.db.transaction();
    await cancel('deployments').where({ id: cancelled.id }).forUpdate().first();
    expect(await admit()).to.equal(1);
    expect((await read(other.id)).admitted_at).to.be.instanceOf(Date);
    await request.commit();
    await cancel.rollback();
    expect(await admit()).to.equal(2);
  });

  it('looks at a workspace again whose settings have changed, within some seconds', async () => {
    await makeWorker(database.db, 9);
    for (let i = 0; i < 3; i++) await queued();
    expect(await admit()).to.equal(2);
    expect(await admit()).to.equal(0);
    await updateRow(database.db, 'workspaces', workspace.id, { configuration: { buildConcurrency: 3 } });
    await database.db.raw(`update admission_lines set blocked_at = blocked_at - interval '6 seconds'`);
    expect(await admit()).to.equal(1);
  });

  it('admits from workspaces that are behind many with nothing to admit', async () => {
    await makeWorker(database.db, 1);
    await queued();
    // These workspaces have nothing to admit and come before the one with a deployment.
    await database.db.raw(
      `insert into workspaces (id, name) select gen_random_uuid(), 'Empty' from generate_series(1, 600)`,
    );
    await database.db.raw('update admission_lines set active = 1');
    await database.db.raw(
      `insert into admission_lines (workspace_id, ready) select id, true from workspaces where name = 'Empty'`,
    );
    expect(await admit()).to.equal(1);
    const ready = await database.db('admission_lines').where({ ready: true }).select('workspace_id');
    expect(ready).to.deep.equal([{ workspace_id: workspace.id }]);
  });

  it('knows how many run in each workspace, whatever happens to them', async () => {
    await makeWorker(database.db, 9);
    const active = async () => {
      const [line] = await database.db('admission_lines').where({ workspace_id: workspace.id }).select('active');
      return line?.active;
    };
    const [first, second] = [await queued(), await queued()];
    expect(await active()).to.equal(0);
    await admit();
    expect(await active()).to.equal(2);
    await database.db('deployments').where({ id: first.id }).update({ finished_at: new Date(), status: 'failed' });
    expect(await active()).to.equal(1);
    await database.db('deployments').where({ id: second.id }).delete();
    expect(await active()).to.equal(0);
    await database.db('workspaces').where({ id: workspace.id }).delete();
    expect(await active()).to.equal(undefined);
  });

  it('explains what has no reason yet first, and the others in turns', async () => {
    const services = await Promise.all(Array.from({ length: 5 }, () => makeService(database.db, workspace)));
    const bulk = services.flatMap(({ id }) => Array.from({ length: 24 }, () => id));
    for (const service_id of bulk) {
      const row = { id: uuidv7(), workspace_id: workspace.id, service_id, trigger: 'manual', actor: 'test' };
      await database.db('deployments').insert({ ...row, configuration: {}, blocked_reason: 'old' });
    }
    const last = await queued();
    const explain = (after: number) => database.db.transaction((trx) => recordWaitingReasons(trx, after));
    const old = async () => (await database.db('deployments').where({ blocked_reason: 'old' })).length;
    const next = await explain(0);
    expect(await old()).to.equal(20);
    expect((await read(last.id)).blocked_reason).to.equal('No worker is online');
    expect(await explain(next)).to.equal(0);
    expect(await old()).to.equal(0);
  });

  it('says what each deployment waits for', async () => {
    await makeWorker(database.db, 2);
    const service = await makeService(database.db, workspace);
    const [first, behind] = [await makeDeployment(database.db, service), await makeDeployment(database.db, service)];
    await queued();
    await admit();
    const full = await queued();
    const crowded = await queued(await makeWorkspace(database.db));
    await database.db.transaction((trx) => recordWaitingReasons(trx));
    expect((await read(behind.id)).blocked_reason).to.equal(`Waits for deployment ${first.id} of this service`);
    expect((await read(full.id)).blocked_reason).to.equal(
      'The workspace runs as many deployments as its buildConcurrency allows (2); this one starts when one ends',
    );
    expect((await read(crowded.id)).blocked_reason).to.equal('All deployment slots of the workers are taken');
  });
});
