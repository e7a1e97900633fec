import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { loadRouteFacts } from '../../../../shared/routing/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { findServiceView } from '../../../../shared/services/store.js';
import { wantReplicas, wantStopped } from '../../../../workers/replicas/desire-store.js';
import { recordFrozen, recordThawed } from '../../../../workers/replicas/freeze-store.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import {
  freezeReplicas,
  lockSleeper,
  markEnded,
  recordVisits,
  sleepFacts,
  wakeService,
} from '../../../../workers/sleep/visit-store.js';
import { makeReplica, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive, readRow } from '../../../support/records.js';

describe('The records of a sleeping service', () => {
  const database = useTestDatabase();
  const hostId = uuidv7();
  let db: Db;
  let service: ServiceRow;
  let deploymentId: string;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    service = await makeService(db, undefined, { scaling: 'auto', minReplicas: 0 });
    deploymentId = await pretendLive(db, service.id);
    const ready_at = new Date(Date.now() - 60_000);
    await makeReplica(db, service.id, deploymentId, { host_id: hostId, state: 'ready', port: 4000, ready_at });
  });

  const replica = () => readRow<ReplicaRow>(db, 'replicas', { service_id: service.id });
  const act = (action: typeof freezeReplicas | typeof markEnded) =>
    db.transaction(async (trx) => {
      const [found] = await sleepFacts(trx);
      const locked = found && (await lockSleeper(trx, found));
      if (!locked) throw new Error('the service is not found');
      await action(trx, locked);
    });
  const wake = () => db.transaction((trx) => wakeService(trx, service.id));
  const routed = async () => {
    const [facts] = await loadRouteFacts(db, [service.id]);
    return { replicas: facts?.replicas.length, sleeps: facts?.sleeps };
  };
  const facts = async () => (await sleepFacts(db))[0];

  it('tell how long it had no visitor', async () => {
    expect(await facts()).to.include({ frozen: false, maySleep: true, busy: false, allReady: true, visited: false });
    expect((await facts())?.quietSeconds).to.be.within(59, 120);
    await recordVisits(db, [service.id]);
    expect((await facts())?.quietSeconds).to.be.below(30);
    await db<ReplicaRow>('replicas').update({ ready_at: null });
    expect((await facts())?.quietSeconds).to.equal(null);
  });

  it('take its replicas out of the route from the wish to freeze them until they run again', async () => {
    await act(freezeReplicas);
    expect(await routed()).to.deep.equal({ replicas: 0, sleeps: true });
    expect(await recordFrozen(db, await replica())).to.equal(true);
    expect(await facts()).to.include({ frozen: true, visited: false });
    expect(await findServiceView(db, service.workspace_id, service.id)).to.include({
      frozen: true,
      health_status: 'unknown',
      runtime_detail: 'frozen until the next request',
    });
    await recordThawed(db, await replica());
    expect((await replica()).state, 'nobody has woken it').to.equal('frozen');

    expect(await wake()).to.include({ id: service.id, ended: false });
    expect(await wake(), 'it is awake').to.equal(undefined);
    expect(await routed()).to.deep.equal({ replicas: 0, sleeps: true });
    await recordThawed(db, await replica());
    expect(await routed()).to.deep.equal({ replicas: 1, sleeps: true });
    const row = await db<ServiceRow>('services').where({ id: service.id }).first();
    expect(row?.asleep_since).to.equal(null);
    expect(row?.woke_at?.getTime()).to.be.at.least(row?.last_asleep_since?.getTime() ?? Number.POSITIVE_INFINITY);
    expect((await facts())?.quietSeconds, 'who woke it is a visitor').to.be.below(30);
  });

  it('let a request win that arrives before its processes are frozen', async () => {
    await act(freezeReplicas);
    const before = await replica();
    await wake();
    expect(await routed()).to.deep.equal({ replicas: 1, sleeps: true });
    expect(await recordFrozen(db, before)).to.equal(false);
    expect((await replica()).state).to.equal('ready');
  });

  it('note a visitor whom no edge has held', async () => {
    await act(freezeReplicas);
    await recordVisits(db, [service.id]);
    expect(await facts()).to.include({ frozen: true, visited: true });
  });

  it('let a request wake it while its frozen replicas are about to be taken away', async () => {
    await act(freezeReplicas);
    await recordFrozen(db, await replica());
    await act(markEnded);
    expect(await facts(), 'nothing is decided of one that has ended').to.equal(undefined);
    const days = 100 * 86_400_000;
    await db('services').update({ asleep_since: new Date(Date.now() - days) });
    const woken = await wake();
    expect(woken).to.include({ ended: true });
    expect(woken?.sleptMs).to.be.above(days - 1000);
    expect(await replica()).to.include({ to_freeze: false, desired: 'running' });
    expect(await db('services').where({ id: service.id }).first()).to.include({ scaled_replicas: 1 });
  });

  it('let whoever wants running replicas thaw them, and who stops them stop them', async () => {
    await act(freezeReplicas);
    await recordFrozen(db, await replica());
    await wantReplicas(db, { serviceId: service.id, deploymentId: uuidv7(), hostId }, 0, false);
    expect((await replica()).to_freeze, 'another release').to.equal(true);
    await wantReplicas(db, { serviceId: service.id, deploymentId, hostId }, 1, false);
    expect(await replica()).to.include({ to_freeze: false, state: 'frozen' });
    await wantStopped(db, deploymentId);
    await recordThawed(db, await replica());
    expect(await replica()).to.include({ desired: 'stopped', state: 'frozen' });
    expect(await facts()).to.include({ frozen: false });
  });
});
