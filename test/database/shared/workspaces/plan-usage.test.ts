import { expect } from 'chai';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import type { WorkspaceRow } from '../../../../shared/workspaces/model.js';
import { buildMinutes } from '../../../../shared/workspaces/plan-usage.js';
import { makeDeployment, makeService, makeWorker, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { applyEvent, claimDeployment, endedBuild } from '../../../support/records.js';

const MINUTE_MS = 60_000;

describe('The build minutes of a workspace', () => {
  const database = useTestDatabase();
  let workspace: WorkspaceRow;
  let service: ServiceRow;

  beforeEach(async () => {
    workspace = await makeWorkspace(database.db);
    service = await makeService(database.db, workspace);
  });

  const used = () => buildMinutes(database.db, workspace.id);
  const month = () => {
    const now = new Date();
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  };

  async function earlier(minutes: number): Promise<void> {
    const started = new Date(Date.now() - minutes * MINUTE_MS).toISOString();
    await database.db.raw(
      `update deployments set steps = (select jsonb_agg(case when step ->> 'finishedAt' is null
         then jsonb_set(step, '{startedAt}', to_jsonb(cast(:started as text))) else step end)
         from jsonb_array_elements(steps) step) where workspace_id = :id and finished_at is null`,
      { started, id: workspace.id },
    );
  }

  it('are counted once for each build, by the transition that ends it, whoever runs it', async () => {
    const { db } = database;
    const { id } = await makeDeployment(db, service);
    await db('deployments').where({ id }).update({ admitted_at: db.fn.now() });
    await claimDeployment(db, id, await makeWorker(db, 1));
    await applyEvent(db, { id, fence: 1 }, 'queued', { type: 'resolved', commitSha: 'c', commitMessage: '' });
    await earlier(3);
    const running = await used();
    expect(running).to.be.greaterThan(0);
    // The first worker has lost its claim, and its write counts nothing.
    await claimDeployment(db, id, await makeWorker(db, 1));
    await applyEvent(db, { id, fence: 1 }, 'building', { type: 'built', image: null });
    expect(await db('build_times').where({ workspace_id: workspace.id })).to.deep.equal([]);
    await applyEvent(db, { id, fence: 2 }, 'building', { type: 'built', image: null });
    const ended = await used();
    expect(ended).to.be.at.least(running);
    await applyEvent(db, { id, fence: 2 }, 'building', { type: 'built', image: null });
    expect(await used()).to.equal(ended);
    await applyEvent(db, { id, fence: 2 }, 'releasing', { type: 'imageMissing' });
    await earlier(2);
    await applyEvent(db, { id, fence: 2 }, 'building', { type: 'failed', error: 'build: exit code 1' });
    const [first, second] = await stepMinutes(id);
    const counted = (await db('build_times').where({ workspace_id: workspace.id })) as { seconds: number }[];
    const all = counted.reduce((sum, { seconds }) => sum + seconds, 0) / 60;
    expect(all).to.be.closeTo((first ?? 0) + (second ?? 0), 0.001);
  });

  it('count nothing for a deployment whose build has not begun', async () => {
    const { id } = await makeDeployment(database.db, service);
    await database.db('deployments').where({ id }).update({ status: 'building' });
    expect(await used()).to.equal(0);
  });

  it('are those of this month: a build that began before it counts with its part', async () => {
    await endedBuild(database.db, service.id, new Date(month() - 60 * MINUTE_MS), new Date(month() - 1));
    expect(await used()).to.equal(0);
    await endedBuild(database.db, service.id, new Date(month() - 60 * MINUTE_MS), new Date(month() + 3 * MINUTE_MS));
    expect(await used()).to.equal(3);
  });

  async function stepMinutes(id: string): Promise<number[]> {
    const { steps } = await database.db('deployments').where({ id }).first();
    return (steps as { name: string; startedAt: string; finishedAt: string }[])
      .filter(({ name }) => name === 'build')
      .map(({ startedAt, finishedAt }) => (Date.parse(finishedAt) - Date.parse(startedAt)) / MINUTE_MS);
  }
});
