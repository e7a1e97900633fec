import { expect } from 'chai';
import {
  countDeployments,
  foldDeploymentCounts,
  stepDurations,
} from '../../../../shared/deployments/deployment-statistics.js';
import { makeDeployment, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

describe('Statistics of deployments', () => {
  const database = useTestDatabase();

  const counts = async () => Object.fromEntries(await countDeployments(database.db));
  const end = (id: string, status: string) =>
    database.db('deployments').where({ id }).update({ status, finished_at: new Date() });

  it('count what has ended and what is open, whatever happens to the records', async () => {
    const service = await makeService(database.db);
    const made = [];
    for (let i = 0; i < 5; i++) made.push(await makeDeployment(database.db, service));
    const [first, second, third, fourth] = made.map(({ id }) => id) as [string, string, string, string];
    expect(await counts()).to.deep.equal({ queued: 5 });
    await database.db('deployments').where({ id: first }).update({ status: 'building' });
    await end(first, 'live');
    await end(second, 'failed');
    await end(third, 'failed');
    expect(await counts()).to.deep.equal({ queued: 2, live: 1, failed: 2 });
    await foldDeploymentCounts(database.db);
    expect(await database.db('deployment_counts').select('status')).to.have.length(2);
    expect(await counts()).to.deep.equal({ queued: 2, live: 1, failed: 2 });
    await database.db('deployments').where({ id: second }).delete();
    await database.db('deployments').where({ id: fourth }).delete();
    await foldDeploymentCounts(database.db);
    expect(await counts()).to.deep.equal({ queued: 1, live: 1, failed: 1 });
    const ended = { ...(await database.db('deployments').where({ id: first }).first('*')) };
    for (const column of ['number', 'id']) delete ended[column];
    const steps = JSON.stringify(ended.steps);
    await database.db('deployments').insert({ ...ended, id: fourth, steps });
    expect(await counts()).to.include({ live: 2 });
    expect(await stepDurations(database.db)).to.deep.equal([]);
  });
});
