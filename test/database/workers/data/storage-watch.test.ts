import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { storageBytes } from '../../../../shared/data/model.js';
import { type DataServerRow, findDataServer } from '../../../../shared/data/store.js';
import { watchStorage } from '../../../../workers/data/storage-watch.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeDataServer, makeService } from '../../../support/factories.js';
import { pretendLive } from '../../../support/records.js';
import { type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

/** Tests the decisions with made-up measurements. test/workers/data/storage-bound.test.ts uses a real server. */
describe('The watch of data servers', () => {
  let workshop: TestWorkshop;
  let deps: JobDeps;
  let deploymentId: string;
  let serviceId: string;
  const hostId = randomUUID();
  let used: () => Promise<number | null>;
  const bound = storageBytes('starter');

  useTestWorkshop((opened) => {
    ({ workshop } = opened);
    const data = { hostId, measure: () => used() };
    deps = { ...opened.worker, data: data as unknown as JobDeps['data'] };
  });
  beforeEach(async () => {
    const { db } = workshop.database;
    await db.raw('truncate workspaces cascade');
    const service = await makeService(db, undefined, { plan: 'starter' }, 'redis');
    serviceId = service.id;
    deploymentId = await pretendLive(db, service.id, { configuration: service.configuration });
    await makeDataServer(db, service.id, { host_id: hostId, initialized_at: new Date() });
  });

  const server = async () => (await findDataServer(workshop.database.db, serviceId)) as DataServerRow;
  const measured = (bytes: number | null) => {
    used = async () => bytes;
    return watchStorage(deps);
  };

  it('records what they use, and says once that a bound came or went', async () => {
    expect(await measured(bound / 2)).to.deep.equal([]);
    expect(Number((await server()).used_bytes)).to.equal(bound / 2);
    expect(await measured(bound * 0.95)).to.deep.equal([
      `the storage of database ${serviceId} is read_only now (${bound * 0.95} bytes)`,
    ]);
    expect(await measured(bound * 0.95), 'the same bound').to.deep.equal([]);
    expect(await measured(bound)).to.have.length(1);
    expect((await server()).storage_state).to.equal('closed');
    expect(await measured(0)).to.have.length(1);
    const said = (await workshop.messages(deploymentId)).map((line) => line.slice(0, 30));
    expect(said).to.deep.equal([
      'The data takes 90 % of the sto',
      'The storage of the plan is ful',
      'The data takes less than 90 % ',
    ]);
    const levels = await workshop.database.db('log_lines').where({ deployment_id: deploymentId }).orderBy('id');
    expect(levels.map((line) => line.level)).to.deep.equal(['error', 'error', 'info']);
  });

  it('changes nothing if one cannot be measured, never ran, or is on another host', async () => {
    await measured(bound * 0.95);
    expect(await measured(null)).to.deep.equal([]);
    used = () => Promise.reject(new Error('no answer'));
    expect(await watchStorage(deps)).to.deep.equal([]);
    const { db } = workshop.database;
    await db('data_servers').update({ initialized_at: null });
    expect(await measured(bound)).to.deep.equal([]);
    await db('data_servers').update({ initialized_at: new Date(), host_id: randomUUID() });
    expect(await measured(bound)).to.deep.equal([]);
    await db('data_servers').update({ host_id: hostId });
    await db('services').update({ live_deployment_id: null });
    expect(await measured(bound)).to.deep.equal([]);
    expect(await server()).to.include({ storage_state: 'read_only' });
  });
});
