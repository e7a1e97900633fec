import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../../../shared/core/database/database-client.js';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { cancelOpenDeployments } from '../../../../shared/deployments/store.js';
import type { Step } from '../../../../shared/stacks/model.js';
import { cancelApply, insertApply } from '../../../../shared/stacks/store.js';
import { performDeployment } from '../../../../workers/deploy/perform-deployment.js';
import { settleTogether } from '../../../../workers/together/settle-together.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeService } from '../../../support/factories.js';
import { claimDeployment, newEnvironment, updateRow } from '../../../support/records.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

describe('Deployments that go live together', () => {
  let workshop: TestWorkshop;
  let db: Db;
  let worker: JobDeps;
  let other: JobDeps;

  useTestWorkshop(async (opened) => {
    ({ workshop, db, worker } = opened);
    other = await workshop.worker();
  });

  interface TestGroup {
    applyId: string;
    stackId: string;
    members: DeploymentRow[];
  }

  /** Creates an apply whose deployments go live together. The services are named a, b, c … */
  async function group(count: number, changes: Partial<Record<keyof DeploymentRow, unknown>> = {}): Promise<TestGroup> {
    const services = [];
    for (let index = 0; index < count; index++) services.push(await makeService(db));
    const workspace_id = services[0]?.workspace_id ?? '';
    const { environmentId } = await newEnvironment(db, workspace_id);
    const [stackId, applyId] = [uuidv7(), uuidv7()];
    await db('stacks').insert({ id: stackId, workspace_id, environment_id: environmentId, name: `stack-${stackId}` });
    const members: DeploymentRow[] = [];
    const steps = services.map((_, index): Step => ({ op: 'service.deploy', service: nameOf(index) }));
    const asked = { actor: 'test', together: true, reads_protected: false, sealed_steps: Buffer.alloc(1) };
    const plan = { changes: [], deploys: [], warnings: [] };
    await db.transaction((trx) =>
      insertApply(trx, { id: applyId, workspace_id, stack_id: stackId, ...asked, plan, steps }),
    );
    await db('stack_applies').where({ id: applyId }).update({ status: 'running' });
    for (const [position, service] of services.entries()) {
      await updateRow(db, 'services', service.id, { name: nameOf(position) });
      const member = await workshop.deployment({ together_id: applyId, ...changes }, service);
      members.push(member);
      const done = { status: 'done', deployment_id: member.id };
      await db('stack_steps').where({ apply_id: applyId, position }).update(done);
    }
    return { applyId, stackId, members };
  }
  const nameOf = (index: number) => String.fromCharCode(97 + index);

  const run = ({ id }: { id: string }, deps = worker) =>
    performDeployment(deps, id, jobHelpers()).then(
      ({ status }) => status,
      (error: Error) => error.message,
    );
  const rows = (members: readonly DeploymentRow[]) => Promise.all(members.map(({ id }) => workshop.read(id)));
  const statuses = async (members: readonly DeploymentRow[]) => (await rows(members)).map(({ status }) => status);
  const live = (members: readonly DeploymentRow[]) =>
    Promise.all(members.map(async (member) => (await workshop.service(member.service_id)).live_deployment_id));
  const transactions = async (members: readonly DeploymentRow[]) => {
    const ids = members.map(({ service_id }) => service_id);
    const { rows: found } = await db.raw('select distinct xmin::text as id from services where id = any(?)', [ids]);
    return found.length;
  };
  const NONE = [null, null, null];

  it('wait without a lease until the last one is healthy, and then move all routes in one transaction', async () => {
    const { members } = await group(3);
    const [a, b, c] = members as [DeploymentRow, DeploymentRow, DeploymentRow];
    expect(await run(a)).to.equal('waits for b, c');
    expect(await run(b)).to.equal('waits for c');
    for (const row of await rows([a, b])) {
      expect(row).to.include({ status: 'prepared', worker_id: null, went_live_at: null });
      expect(row.due_at).to.be.instanceOf(Date);
      expect(row.prepared_at).to.be.instanceOf(Date);
    }
    expect(await live(members)).to.deep.equal(NONE);

    await run(c);
    expect(await statuses(members)).to.deep.equal(['switched', 'switched', 'switched']);
    expect(await live(members)).to.deep.equal(members.map(({ id }) => id));
    expect(await transactions(members)).to.equal(1);
    for (const member of members) expect(await run(member)).to.equal('live');
    expect(await statuses(members)).to.deep.equal(['live', 'live', 'live']);
    const messages = await workshop.messages(a.id);
    expect(messages.at(-1)).to.match(/when all services that go live with it are ready$/);
  });

  it('move their routes once, if the last ones arrive at the same time on two workers', async () => {
    for (let round = 0; round < 5; round++) {
      const { members } = await group(2);
      const [a, b] = members as [DeploymentRow, DeploymentRow];
      await Promise.all([run(a, worker), run(b, other)]);
      // If each worker saw the other deployment releasing, both look again after a second.
      if ((await statuses(members)).includes('prepared')) await Promise.all([run(a, worker), run(b, other)]);
      expect(await live(members)).to.deep.equal([a.id, b.id]);
      expect(await transactions(members)).to.equal(1);
      await Promise.all([run(a, worker), run(b, other)]);
      expect(await statuses(members)).to.deep.equal(['live', 'live']);
    }
  });

  it('settle once, if several workers settle at the same time', async () => {
    const { applyId, members } = await group(3, { status: 'prepared', fence: 1 });
    const decisions = await Promise.all([1, 2, 3, 4].map(() => settleTogether(worker, applyId)));
    expect(decisions.filter(({ type }) => type === 'switch')).to.have.length(1);
    expect((await rows(members)).map(({ fence }) => fence)).to.deep.equal([2, 2, 2]);
    expect(await transactions(members)).to.equal(1);
  });

  it('stay on their old releases if one is unhealthy; the healthy ones stop and name it', async () => {
    const { members, applyId } = await group(3);
    const [a, b, c] = members as [DeploymentRow, DeploymentRow, DeploymentRow];
    await db('deployments').where({ id: c.id }).update({ admitted_at: null });
    workshop.runtime.script(b.service_id, { fail: 'exited with code 1' });
    await run(a);
    expect((await workshop.runtime.inspect(a.id)).map(({ state }) => state)).to.deep.equal(['ready']);
    await run(b);
    await run(a);
    const [first, second, third] = await rows(members);
    expect(second?.error).to.equal('release: replica 1 exited with code 1 before it was healthy');
    const reason = `no service of the stack went live, because the deployment of b failed: ${second?.error}`;
    expect(first).to.include({ status: 'failed', error: `release: ${reason}` });
    // The third deployment was not admitted, so it ends without a worker.
    expect(third).to.include({ status: 'failed', error: reason, blocked_reason: '' });
    expect(third?.steps.every(({ finishedAt }) => finishedAt !== null)).to.equal(true);
    expect(await db('notifications').where({ deployment_id: c.id })).to.have.length(1);
    expect(await live(members)).to.deep.equal(NONE);
    expect(await workshop.runtime.inspect(a.id)).to.deep.equal([]);
    expect(await settleTogether(worker, applyId)).to.deep.include({ type: 'giveUp' });
  });

  it('stay on their old releases if one is cancelled while it waits', async () => {
    const { members } = await group(2);
    const [a, b] = members as [DeploymentRow, DeploymentRow];
    await run(a);
    await db.transaction((trx) => cancelOpenDeployments(trx, { serviceId: a.service_id }));
    expect(await run(b)).to.contain('the deployment of a was cancelled');
    expect(await run(a)).to.equal('cancelled');
    expect(await statuses(members)).to.deep.equal(['cancelled', 'failed']);
    expect(await live(members)).to.deep.equal([null, null]);
  });

  it('all move or none does, whatever a cancellation of their apply meets', async () => {
    for (let round = 0; round < 10; round++) {
      const { members, applyId, stackId } = await group(2, { status: 'prepared', fence: 1 });
      const cancel = () => db.transaction((trx) => cancelApply(trx, { id: applyId, stack_id: stackId }));
      await Promise.all([settleTogether(worker, applyId), cancel(), settleTogether(other, applyId)]);
      const found = await live(members);
      const given = (await db('stack_applies').where({ id: applyId }).first()).together_error;
      if (found[0] === null) expect([found, given]).to.deep.equal([[null, null], 'the apply was cancelled']);
      else expect([found, given]).to.deep.equal([members.map(({ id }) => id), '']);
    }
  });

  it('go live although a worker died while it held one of them, which can change nothing then', async () => {
    const { members } = await group(2, { status: 'prepared' });
    const [a, b] = members as [DeploymentRow, DeploymentRow];
    const dead = await claimDeployment(db, a.id, other.workerId);
    await run(b);
    const [first] = await rows([a]);
    expect(first).to.include({ status: 'switched', worker_id: null });
    expect(first?.fence).to.equal((dead?.fence ?? 0) + 1);
    for (const member of members) expect(await run(member)).to.equal('live');
  });

  it('wait for a release whose replica has crashed meanwhile', async () => {
    const { members } = await group(2);
    const [a, b] = members as [DeploymentRow, DeploymentRow];
    await run(a);
    await db('replicas').where({ deployment_id: a.id }).update({ state: 'exited' });
    expect(await run(b)).to.equal('waits for a');
    expect(await live(members)).to.deep.equal([null, null]);
    await db('replicas').where({ deployment_id: a.id }).update({ state: 'ready' });
    await run(b);
    expect(await live(members)).to.deep.equal([a.id, b.id]);
  });

  it('give up if one of them does not begin within the time that a build may take', async () => {
    const { members } = await group(2);
    const [a, b] = members as [DeploymentRow, DeploymentRow];
    await db('deployments').where({ id: b.id }).update({ admitted_at: null });
    expect(await run(a)).to.equal('waits for b');
    const hour = db.raw(`now() - interval '3601 seconds'`);
    const steps = db.raw(`jsonb_set(steps, '{-1,startedAt}', to_jsonb(now() - interval '2 hours'))`);
    for (const { id } of members) {
      await db('deployments').where({ id }).update({ created_at: hour, prepared_at: hour, steps });
    }
    expect(await run(a)).to.contain('b was not ready within 3600 s');
    expect(await statuses(members)).to.deep.equal(['failed', 'failed']);
    expect(await live(members)).to.deep.equal([null, null]);
  });
});
