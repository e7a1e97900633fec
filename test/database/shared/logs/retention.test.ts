import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { deleteExpiredLogs } from '../../../../shared/logs/retention.js';
import { deleteOldReplicas } from '../../../../shared/replicas/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { PLANS } from '../../../../shared/workspaces/catalog.js';
import { makeDeployment, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

describe('Retention', () => {
  const database = useTestDatabase();

  beforeEach(() => database.db('log_lines').delete());

  async function addLine(service: ServiceRow, id: number, age: number): Promise<void> {
    await database.db('log_lines').insert({
      service_id: service.id,
      id,
      source: 'runtime',
      level: 'info',
      message: String(id),
      logged_at: new Date(Date.now() - age),
    });
  }

  const ids = async (service: ServiceRow) =>
    (await database.db('log_lines').where({ service_id: service.id }).orderBy('id')).map(({ id }) => Number(id));

  for (const { id: plan, logDays } of PLANS) {
    it(`keeps log lines of the plan ${plan} for ${logDays} days, and no hour less`, async () => {
      const service = await makeService(database.db, undefined, { plan });
      await addLine(service, 1, logDays * DAY + HOUR);
      await addLine(service, 2, logDays * DAY - HOUR);
      await addLine(service, 3, 0);
      expect(await deleteExpiredLogs(database.db)).to.equal(1);
      expect(await ids(service)).to.deep.equal([2, 3]);
    });
  }

  it('deletes the lines of each service by its own plan', async () => {
    const [first, last] = [PLANS[0], PLANS.at(-1)];
    if (!first || !last) throw new Error('there are no plans');
    expect(first.logDays).to.be.lessThan(last.logDays);
    const [short, long] = [
      await makeService(database.db, undefined, { plan: first.id }),
      await makeService(database.db, undefined, { plan: last.id }),
    ];
    for (const service of [short, long]) await addLine(service, 1, first.logDays * DAY + HOUR);
    expect(await deleteExpiredLogs(database.db)).to.equal(1);
    expect([await ids(short), await ids(long)]).to.deep.equal([[], [1]]);
  });

  it('deletes stopped replicas after a day, and no others', async () => {
    const service = await makeService(database.db);
    const deployment = await makeDeployment(database.db, service);
    const add = async (position: number, state: string, stoppedAgo: number | null) => {
      const replica = { id: randomUUID(), service_id: service.id, deployment_id: deployment.id, host_id: randomUUID() };
      const stopped_at = stoppedAgo === null ? null : new Date(Date.now() - stoppedAgo);
      await database.db('replicas').insert({ ...replica, position, state, stopped_at });
      return replica.id;
    };
    await add(0, 'stopped', DAY + HOUR);
    const kept = [await add(1, 'stopped', DAY - HOUR), await add(2, 'ready', null), await add(3, 'ready', 2 * DAY)];
    expect(await deleteOldReplicas(database.db)).to.equal(1);
    const left = (await database.db('replicas').select('id')).map(({ id }) => id);
    expect(left).to.have.members(kept);
  });
});
