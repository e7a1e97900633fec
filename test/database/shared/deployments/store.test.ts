import { expect } from 'chai';
import type { PageRequest } from '../../../../shared/core/database/page.js';
import { DEPLOYMENTS } from '../../../../shared/deployments/kind.js';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { cancelOpenDeployments, findDeployment, listDeployments } from '../../../../shared/deployments/store.js';
import { failOpen } from '../../../../shared/engine/cancel-requests.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeDeployment, makeService, makeWorker } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { claimDeployment, newDeployment, pretendLive, readRow, updateRow } from '../../../support/records.js';

const PAGE: PageRequest = { limit: 10, after: null };

describe('A deployment in the database', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  beforeEach(async () => {
    service = await makeService(database.db);
  });

  const read = (id: string) => readRow<DeploymentRow>(database.db, 'deployments', { id });

  async function admitted(): Promise<DeploymentRow> {
    const { id } = await makeDeployment(database.db, service);
    const { fn } = database.db;
    await database.db('deployments').where({ id }).update({ admitted_at: fn.now(), due_at: fn.now() });
    return read(id);
  }

  const cancel = (deploymentId?: string) =>
    database.db.transaction((trx) =>
      cancelOpenDeployments(trx, { serviceId: service.id, ...(deploymentId ? { deploymentId } : {}) }),
    );

  it('keeps the moment at which the first worker claimed it', async () => {
    const { id } = await admitted();
    await claimDeployment(database.db, id, await makeWorker(database.db, 1));
    await updateRow(database.db, 'deployments', id, { started_at: new Date(0) });
    await claimDeployment(database.db, id, await makeWorker(database.db, 1));
    expect((await read(id)).started_at?.getTime()).to.equal(0);
  });

  it('that no worker has claimed ends when it is cancelled: its step ends, and it needs no job', async () => {
    const { id } = await admitted();
    expect(await cancel()).to.equal(1);
    const row = await read(id);
    expect(row).to.include({ status: 'cancelled', due_at: null });
    expect(row.steps.map((step) => typeof step.finishedAt)).to.deep.equal(['string']);
    expect(await cancel(), 'it has ended').to.equal(0);
  });

  it('whose cancellation was requested is cancelled, without an error, when all are marked as failed', async () => {
    const [failed, cancelled] = [(await admitted()).id, (await admitted()).id];
    await updateRow(database.db, 'deployments', cancelled, { cancel_requested_at: new Date() });
    await failOpen(database.db, DEPLOYMENTS, { service_id: service.id }, 'the others failed');
    expect(await read(failed)).to.include({ status: 'failed', error: 'the others failed' });
    expect(await read(cancelled)).to.include({ status: 'cancelled', error: '' });
  });

  it('that a worker has claimed keeps its running step and its next job when its cancellation is requested', async () => {
    const { id } = await admitted();
    await claimDeployment(database.db, id, await makeWorker(database.db, 1));
    const dueAt = new Date();
    await database.db('deployments').where({ id }).update({ due_at: dueAt });
    await cancel();
    const row = await read(id);
    expect(row.steps.at(-1)?.finishedAt).to.equal(null);
    expect(row.due_at).to.deep.equal(dueAt);
  });

  it('is cancelled alone if it is named, and never with those of another service', async () => {
    const [one, two] = [await makeDeployment(database.db, service), await makeDeployment(database.db, service)];
    const other = await makeDeployment(database.db, await makeService(database.db));
    expect(await cancel(one.id)).to.equal(1);
    expect((await read(two.id)).status).to.equal('queued');
    expect(await cancel(other.id)).to.equal(0);
    expect(await cancel()).to.equal(1);
    expect((await read(other.id)).status).to.equal('queued');
  });

  describe('can be rolled back to', () => {
    const canRollback = async (id: string) => (await findDeployment(database.db, service.id, id))?.can_rollback;

    it('if it went live and its image is kept', async () => {
      const id = await pretendLive(database.db, service.id);
      expect(await canRollback(id)).to.equal(true);
      await database.db('images').where({ service_id: service.id }).update({ removed_at: new Date() });
      expect(await canRollback(id)).to.equal(false);
    });

    it('unless it failed, although it had an image', async () => {
      const live = await read(await pretendLive(database.db, service.id));
      const failed = await newDeployment(database.db, service.id, { status: 'failed', image_id: live.image_id });
      expect(await canRollback(failed)).to.equal(false);
    });

    it('unless the service is archived or is being deleted', async () => {
      const id = await pretendLive(database.db, service.id);
      const update = (fields: object) => database.db('services').where({ id: service.id }).update(fields);
      await update({ archived: true });
      expect(await canRollback(id)).to.equal(false);
      await update({ archived: false, lifecycle_status: 'deleting' });
      expect(await canRollback(id)).to.equal(false);
    });
  });

  it('is found through its own service only', async () => {
    const { id } = await makeDeployment(database.db, service);
    const other = await makeService(database.db);
    expect(await findDeployment(database.db, other.id, id)).to.equal(undefined);
    expect((await listDeployments(database.db, other.id, PAGE)).items).to.deep.equal([]);
    expect((await listDeployments(database.db, service.id, PAGE)).items.map((row) => row.id)).to.deep.equal([id]);
  });
});
