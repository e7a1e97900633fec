import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { acknowledgeRoutes, reportEdge } from '../../../../shared/routing/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { wantReplicas, wantStopped } from '../../../../workers/replicas/desire-store.js';
import { restartDelayMs } from '../../../../workers/replicas/model.js';
import { hostPortsOf, restingPorts } from '../../../../workers/replicas/port-store.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import {
  abandonStart,
  claimReplica,
  isAbandoned,
  recordProcess,
  releaseReplica,
} from '../../../../workers/replicas/start-store.js';
import {
  advanceLog,
  deleteOldReplicas,
  recordExit,
  recordReady,
  recordStopped,
  recordUnhealthy,
  replicasOf,
} from '../../../../workers/replicas/store.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { NO_EDGE_FIGURES, pretendLive, readRow } from '../../../support/records.js';

describe('The records of replicas', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  let deploymentId: string;
  let hostId: string;
  beforeEach(async () => {
    service = await makeService(database.db);
    deploymentId = await pretendLive(database.db, service.id);
    hostId = uuidv7();
  });

  const want = (count: number, fresh = false) =>
    wantReplicas(database.db, { serviceId: service.id, deploymentId, hostId }, count, fresh);

  const read = (id: string) => readRow<ReplicaRow>(database.db, 'replicas', { id });

  async function first(): Promise<ReplicaRow> {
    const [row] = await replicasOf(database.db, deploymentId);
    if (!row) throw new Error('no replica');
    return row;
  }

  async function ready(port = 20_000): Promise<ReplicaRow> {
    await want(1);
    const row = await first();
    expect(await claimReplica(database.db, row, port)).to.equal('claimed');
    await recordReady(database.db, row);
    return read(row.id);
  }

  async function serviceNow(): Promise<{ health: string; version: number }> {
    const row = await database.db('services').where({ id: service.id }).first();
    return { health: row.health_status, version: Number(row.route_version) };
  }

  it('a host claims a replica that waits, once, and not one that is to stop', async () => {
    await want(2);
    const [one, two] = await replicasOf(database.db, deploymentId);
    if (!one || !two) throw new Error('no replicas');
    expect(await claimReplica(database.db, one, 20_000)).to.equal('claimed');
    expect(await claimReplica(database.db, one, 20_001)).to.equal('lost');
    expect(await claimReplica(database.db, two, 20_000), 'its port is in use').to.equal('taken');
    await wantStopped(database.db, deploymentId, [two.id]);
    expect(await claimReplica(database.db, two, 20_001)).to.equal('lost');
  });

  it('what belongs to an earlier attempt changes nothing', async () => {
    const row = await ready();
    await recordExit(database.db, row, 'exited with code 1');
    const after = await read(row.id);
    expect(after).to.include({ state: 'exited', restarts: row.restarts + 1, port: null });
    await recordReady(database.db, row);
    await recordStopped(database.db, { ...row, state: 'exited' });
    expect(await read(row.id)).to.deep.equal(after);
  });

  it('one that was ready starts again after a growing wait, and one that never was has failed', async () => {
    const now = new Date('2026-01-01T00:00:00Z');
    const row = await ready();
    await recordExit(database.db, { ...row, restarts: row.restarts, started_at: now }, 'exited', { now });
    expect((await read(row.id)).next_start_at).to.deep.equal(new Date(now.getTime() + 1000));
    await want(2);
    const [, unproven] = await replicasOf(database.db, deploymentId);
    if (!unproven) throw new Error('no second replica');
    await recordExit(database.db, unproven, 'exited', { now });
    expect(await read(unproven.id)).to.include({ state: 'exited', next_start_at: null, restarts: 0 });
    const counted = await database.db('replica_restarts').where({ service_id: row.service_id });
    expect(counted, 'only a replica that had been ready restarts').to.have.length(1);
  });

  it('a change that the edge sees raises the route version, and the service shows its health', async () => {
    const row = await ready();
    const before = await serviceNow();
    expect(before.health).to.equal('ready');
    await recordUnhealthy(database.db, row, { answer: 'connection refused', replaceAt: new Date() });
    const after = await serviceNow();
    expect(after.health).to.equal('unhealthy');
    expect(after.version).to.be.greaterThan(before.version);
  });

  it('a release that does not serve changes neither health nor route of its service', async () => {
    const row = await ready();
    await pretendLive(database.db, service.id);
    const before = await serviceNow();
    await recordUnhealthy(database.db, row, { answer: 'connection refused', replaceAt: new Date() });
    expect(await serviceNow()).to.deep.equal(before);
  });

  it('a fresh generation starts beside the running one, once', async () => {
    expect(await want(1)).to.equal(1);
    expect(await want(1)).to.equal(1);
    expect(await want(2, true)).to.equal(2);
    expect(await want(2, true), 'it was begun before').to.equal(2);
    expect((await replicasOf(database.db, deploymentId)).map((row) => row.generation)).to.deep.equal([1, 2, 2]);
    await wantStopped(database.db, deploymentId);
    expect(new Set((await replicasOf(database.db, deploymentId)).map((row) => row.desired))).to.deep.equal(
      new Set(['stopped']),
    );
  });

  it('the mark of a log moves only from where the writer saw it', async () => {
    await want(1);
    const { id } = await first();
    await database.db.transaction(async (trx) => {
      expect(await advanceLog(trx, id, 0, 10)).to.equal(true);
      expect(await advanceLog(trx, id, 0, 20)).to.equal(false);
    });
    expect((await read(id)).log_offset).to.equal(10);
  });

  it('a port is open to all hosted processes only if a database server is behind it', async () => {
    const { id } = await ready();
    await database.db('replicas').where({ id }).update({ volume_id: service.id });
    const open = async () => (await hostPortsOf(database.db, hostId)).map((port) => port.open);
    expect(await open(), 'an application with a volume').to.deep.equal([false]);
    await database.db('services').where({ id: service.id }).update({ kind: 'postgres' });
    expect(await open(), 'a database').to.deep.equal([true]);
  });

  it('a port that is given back rests until every edge has the route without it', async () => {
    const edge = { id: uuidv7(), host: 'host', pid: 1 };
    await reportEdge(database.db, edge, NO_EDGE_FIGURES);
    const row = await ready();
    const { version: old } = await serviceNow();
    await acknowledgeRoutes(database.db, edge.id, [{ serviceId: service.id, version: old }]);
    await recordStopped(database.db, row);
    expect(await restingPorts(database.db, hostId)).to.deep.equal([20_000]);
    const { version } = await serviceNow();
    await acknowledgeRoutes(database.db, edge.id, [{ serviceId: service.id, version }]);
    expect(await restingPorts(database.db, hostId)).to.deep.equal([]);
    await database.db('edges').delete();
  });

  it('only replicas that stopped more than a day ago are forgotten', async () => {
    await want(3);
    const [running, recent, old] = await replicasOf(database.db, deploymentId);
    const stop = (id: string | undefined, age: string) =>
      database.db.raw(`update replicas set state = 'stopped', stopped_at = now() - cast(? as interval) where id = ?`, [
        age,
        id ?? '',
      ]);
    await stop(recent?.id, '23 hours');
    await stop(old?.id, '25 hours');
    await database.db.raw(`update replicas set stopped_at = now() - interval '9 days' where id = ?`, [
      running?.id ?? '',
    ]);
    expect(await deleteOldReplicas(database.db)).to.equal(1);
    const rows = await database.db('replicas').where({ deployment_id: deploymentId }).select('id');
    expect(rows.map(({ id }) => id)).to.have.members([running?.id, recent?.id]);
  });

  it('a claimed replica has one process, and after a crash waits as another attempt', async () => {
    await want(1);
    const row = await first();
    await claimReplica(database.db, row, 20_000);
    expect(await recordProcess(database.db, row, 7, 'now')).to.equal(true);
    expect(await recordProcess(database.db, row, 8, 'now'), 'another process').to.equal(false);
    expect((await read(row.id)).pid).to.equal(7);
    await releaseReplica(database.db, row);
    expect(await read(row.id)).to.include({ state: 'pending', restarts: row.restarts + 1, pid: null, port: null });
    expect(await recordProcess(database.db, row, 9, 'now'), 'a process of the earlier attempt').to.equal(false);
  });

  it('an attempt that is being abandoned gets no process, and one that has a process is not abandoned', async () => {
    await want(1);
    const row = await first();
    await claimReplica(database.db, row, 20_000);
    expect(await isAbandoned(database.db, row)).to.equal(false);
    expect(await abandonStart(database.db, row)).to.equal(true);
    expect(await isAbandoned(database.db, row), 'its worker must not record a failure').to.equal(true);
    expect(await recordProcess(database.db, row, 7, 'now'), 'the worker that still starts it').to.equal(false);
    expect(await abandonStart(database.db, row), 'again, after a failure').to.equal(true);
    await releaseReplica(database.db, row);
    const next = await first();
    await claimReplica(database.db, next, 20_000);
    expect(await recordProcess(database.db, next, 8, 'now')).to.equal(true);
    expect(await abandonStart(database.db, next)).to.equal(false);
    expect((await read(row.id)).pid).to.equal(8);
  });

  it('the wait before a start is short again after ten minutes without an end', async () => {
    const row = await ready();
    const now = new Date();
    const ended = { ...row, restarts: 6 };
    await database.db('replicas').where({ id: row.id }).update({ restarts: 6 });
    await recordExit(database.db, { ...ended, started_at: new Date(now.getTime() - 601_000) }, 'exited', { now });
    const waitMs = ((await read(row.id)).next_start_at?.getTime() ?? 0) - now.getTime();
    expect(waitMs).to.be.within(0, restartDelayMs(1));
  });

  it('a stopped replica is not to run any more, and only a port of the host rests', async () => {
    await reportEdge(database.db, { id: uuidv7(), host: 'host', pid: 1 }, NO_EDGE_FIGURES);
    const process = await ready();
    await recordStopped(database.db, process);
    expect(await read(process.id)).to.include({ state: 'stopped', desired: 'stopped', port: null });
    expect(await restingPorts(database.db, hostId)).to.include(20_000);
    const container = await ready(8000);
    await database.db('replicas').where({ id: container.id }).update({ task_id: 'task' });
    await recordStopped(database.db, await read(container.id));
    expect(await restingPorts(database.db, hostId)).to.not.include(8000);
  });
});
