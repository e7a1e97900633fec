import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { eraseUnusedSnapshots, insertSnapshot } from '../../../../shared/variables/snapshot-store.js';
import { makeReplica, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment, pretendLive } from '../../../support/records.js';

describe('Snapshots of variables', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  beforeEach(async () => {
    service = await makeService(database.db);
  });

  async function snapshot(): Promise<string> {
    const id = uuidv7();
    const row = { id, service_id: service.id, digest: Buffer.from(id), sealed: Buffer.from('sealed') };
    await database.db.transaction((trx) =>
      insertSnapshot(trx, { ...row, data_references: {}, provider_ids: [], group_ids: [], read_protected: false }),
    );
    return id;
  }

  async function left(): Promise<string[]> {
    const count = await database.db.transaction((trx) => eraseUnusedSnapshots(trx, service.id));
    const rows = await database.db('snapshots').where({ service_id: service.id }).orderBy('id').select('id');
    expect(count).to.equal(rows.length);
    return rows.map(({ id }) => id);
  }

  for (const status of ['queued', 'building', 'releasing', 'switched']) {
    it(`that a deployment needs while it is ${status} are kept, and erased after it failed`, async () => {
      const id = await snapshot();
      const deployment = await newDeployment(database.db, service.id, { status, snapshot_id: id });
      expect(await left()).to.deep.equal([id]);
      await database.db('deployments').where({ id: deployment }).update({ status: 'failed', finished_at: new Date() });
      expect(await left()).to.deep.equal([]);
    });
  }

  it('are kept while their deployment can be rolled back to', async () => {
    const id = await snapshot();
    const older = await pretendLive(database.db, service.id, { snapshot_id: id });
    await pretendLive(database.db, service.id);
    expect(await left()).to.deep.equal([id]);
    const { image_id } = await database.db('deployments').where({ id: older }).first('image_id');
    await database.db('images').where({ id: image_id }).update({ removed_at: new Date() });
    expect(await left()).to.deep.equal([]);
  });

  it('are kept while their deployment serves, or has a replica that runs', async () => {
    const id = await snapshot();
    const live = await pretendLive(database.db, service.id, { snapshot_id: id });
    await database.db('images').where({ service_id: service.id }).update({ removed_at: new Date() });
    expect(await left()).to.deep.equal([id]);
    await database.db('services').where({ id: service.id }).update({ live_deployment_id: null });
    const replicaId = await makeReplica(database.db, service.id, live, { state: 'ready' });
    expect(await left()).to.deep.equal([id]);
    await database.db('replicas').where({ id: replicaId }).update({ state: 'stopped' });
    expect(await left()).to.deep.equal([]);
  });
});
