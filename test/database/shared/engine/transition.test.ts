import { expect } from 'chai';
import { LEASE_SECONDS } from '../../../../shared/engine/leases.js';
import { claim as claimRecord, transition } from '../../../../shared/engine/transition.js';
import { OPERATIONS } from '../../../../shared/operations/kind.js';
import type { OperationRow } from '../../../../shared/operations/model.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeOperation, makeService, makeWorker, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

describe('A record that the engine changes', () => {
  const database = useTestDatabase();

  async function queued(): Promise<string> {
    return (await makeOperation(database.db, await makeService(database.db), 'restart')).id;
  }
  const claim = async (id: string) =>
    claimRecord<OperationRow>(database.db, OPERATIONS, id, await makeWorker(database.db, 1));
  const move = (id: string, fence: number, event: string, error = '') =>
    transition<OperationRow>(database.db, OPERATIONS, { id, fence }, event, { set: { error } });
  const read = (id: string) => database.db('operations').where({ id }).first();

  it('is due at once, and runs under a lease of some seconds when it is claimed', async () => {
    const id = await queued();
    expect(await read(id)).to.include({ status: 'queued', dispatches: 1 });
    expect((await read(id)).due_at).to.be.instanceOf(Date);
    const row = await claim(id);
    expect(row).to.include({ status: 'running', fence: 1 });
    const leftMs = (row?.lease_expires_at?.getTime() ?? 0) - (row?.updated_at.getTime() ?? 0);
    expect(leftMs).to.equal(LEASE_SECONDS * 1000);
    expect(LEASE_SECONDS, 'five renewals fit into it, and the work of a dead worker does not wait for long').to.equal(
      10,
    );
  });

  it('is released and ended by the worker that holds it only', async () => {
    const id = await queued();
    await claim(id);
    const { worker_id: holder } = (await claim(id)) ?? {};
    await move(id, 1, 'released');
    expect(await read(id)).to.include({ status: 'running', worker_id: holder });
    expect(await move(id, 1, 'failed', 'x')).to.equal(null);
    await move(id, 2, 'released');
    expect(await read(id)).to.include({ status: 'queued', worker_id: null, lease_expires_at: null });
  });

  it('that restores waits while another one of its workspace does', async () => {
    const workspace = await makeWorkspace(database.db);
    const service = await makeService(database.db, workspace);
    const restore = async (of: ServiceRow) => (await makeOperation(database.db, of, 'restore')).id;
    const neighbour = await makeService(database.db, workspace);
    const stranger = await makeService(database.db);
    const [first, second, other] = [await restore(service), await restore(neighbour), await restore(stranger)];
    const take = async (id: string) => claim(id);
    expect(await take(first)).to.not.equal(null);
    expect(await take(second)).to.equal(null);
    expect(await take(other)).to.not.equal(null);
    expect(await take(first), 'it is claimed anew by itself').to.not.equal(null);
    await move(first, 2, 'succeeded');
    expect(await take(second)).to.not.equal(null);
  });

  it('ends once, and is not claimed after its end', async () => {
    const id = await queued();
    await claim(id);
    expect(await move(id, 1, 'succeeded')).to.include({ status: 'succeeded' });
    expect(await move(id, 1, 'failed', 'late')).to.equal(null);
    expect(await claim(id)).to.equal(null);
    await move(id, 1, 'released');
    expect(await read(id)).to.include({ status: 'succeeded', error: '' });
  });
});
