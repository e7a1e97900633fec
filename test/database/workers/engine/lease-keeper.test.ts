import { expect } from 'chai';
import type { Listener } from '../../../../shared/core/database/listener.js';
import { createLogger } from '../../../../shared/core/log.js';
import { DEPLOYMENTS } from '../../../../shared/deployments/kind.js';
import type { WorkKind } from '../../../../shared/engine/kind.js';
import type { Lease } from '../../../../shared/engine/leases.js';
import { claim } from '../../../../shared/engine/transition.js';
import { OPERATIONS } from '../../../../shared/operations/kind.js';
import { LeaseKeeper } from '../../../../workers/engine/lease-keeper.js';
import { Interrupted } from '../../../../workers/failures/interruption-errors.js';
import { makeDeployment, makeOperation, makeService, makeWorker } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { claimDeployment } from '../../../support/records.js';

describe('The keeper of leases', () => {
  const database = useTestDatabase();
  let keeper: LeaseKeeper;
  /** Simulates PostgreSQL's notification of a cancellation; null if notifications may have been missed. */
  let notify: (id: string | null) => void;

  beforeEach(() => {
    const on: Listener['on'] = (_channel, handler) => {
      notify = handler;
      return () => undefined;
    };
    keeper = new LeaseKeeper(database.db, { on } as Listener, createLogger('test', 'silent'));
  });
  afterEach(() => keeper.close());

  async function claimed({ table }: WorkKind): Promise<Lease> {
    const service = await makeService(database.db);
    const worker = await makeWorker(database.db, 1);
    if (table === 'deployments') {
      const { id } = await makeDeployment(database.db, service);
      await database.db('deployments').where({ id }).update({ admitted_at: new Date() });
      return { id, fence: (await claimDeployment(database.db, id, worker))?.fence ?? 0 };
    }
    const { id } = await makeOperation(database.db, service, 'restart');
    return { id, fence: (await claim(database.db, OPERATIONS, id, worker))?.fence ?? 0 };
  }

  const expire = ({ table }: WorkKind) => database.db(table).update({ lease_expires_at: new Date(0) });
  const isRenewed = async ({ table }: WorkKind, id: string) => {
    const row = await database.db(table).where({ id }).first();
    return row.lease_expires_at.getTime() > Date.now();
  };
  const why = (signal: AbortSignal) =>
    eventually('the holder is told', () => signal.aborted && signal.reason instanceof Interrupted && signal.reason.why);

  for (const kind of [DEPLOYMENTS, OPERATIONS]) {
    const { table } = kind;
    it(`renews the leases of ${table} that it holds`, async () => {
      const lease = await claimed(kind);
      const held = keeper.hold(kind, lease);
      await expire(kind);
      notify(null);
      await eventually('it is renewed', () => isRenewed(kind, lease.id));
      expect(held.signal.aborted).to.equal(false);
    });

    it(`tells the holder that a lease of ${table} is lost`, async () => {
      const lease = await claimed(kind);
      const held = keeper.hold(kind, lease);
      await database.db(table).where({ id: lease.id }).increment('fence', 1);
      notify(null);
      expect(await why(held.signal)).to.equal('superseded');
    });
  }

  it('tells the holder that a cancellation was requested', async () => {
    const lease = await claimed(DEPLOYMENTS);
    const held = keeper.hold(DEPLOYMENTS, lease);
    await database.db('deployments').where({ id: lease.id }).update({ cancel_requested_at: new Date() });
    notify(lease.id);
    expect(await why(held.signal)).to.equal('cancelled');
  });

  it('renews every two seconds without a notification', async () => {
    const lease = await claimed(DEPLOYMENTS);
    keeper.hold(DEPLOYMENTS, lease);
    await expire(DEPLOYMENTS);
    await eventually('it is renewed', () => isRenewed(DEPLOYMENTS, lease.id));
  });

  it('renews no more when the work has ended, and an older hold of the same record ends no newer one', async () => {
    const [ended, lease] = [await claimed(DEPLOYMENTS), await claimed(DEPLOYMENTS)];
    keeper.hold(DEPLOYMENTS, ended).stop();
    const older = keeper.hold(DEPLOYMENTS, { ...lease, fence: lease.fence - 1 });
    keeper.hold(DEPLOYMENTS, lease);
    older.stop();
    await expire(DEPLOYMENTS);
    notify(null);
    await eventually('the newer one is renewed', () => isRenewed(DEPLOYMENTS, lease.id));
    expect(await isRenewed(DEPLOYMENTS, ended.id)).to.equal(false);
  });
});
