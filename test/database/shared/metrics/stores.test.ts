import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { deleteOldMetrics, readMetrics, rollUp } from '../../../../shared/metrics/history-store.js';
import { LATENCY_BOUNDS } from '../../../../shared/metrics/model.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { recordTraffic, type Traffic } from '../../../../workers/edge/traffic-store.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import { foldUsage, measurableReplicas, recordSamples } from '../../../../workers/runtime/usage-store.js';
import { makeReplica, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive } from '../../../support/records.js';

const LATENCY = LATENCY_BOUNDS.map((_, index) => (index === 3 ? 2 : 0)).concat(0);

describe('The stored figures of services', () => {
  const database = useTestDatabase();
  let service: ServiceRow;

  beforeEach(async () => {
    await database.db('service_metrics').delete();
    await database.db('metric_rollups').delete();
    service = await makeService(database.db);
  });

  const traffic = (fields: Partial<Traffic> = {}): Traffic => ({
    serviceId: service.id,
    classes: [3, 0, 1, 0],
    bytesOut: 500,
    latency: LATENCY,
    ...fields,
  });
  const rows = (step: number) => database.db('service_metrics').where({ service_id: service.id, step }).orderBy('at');

  async function past(step: number, secondsAgo: number): Promise<void> {
    await database.db.raw(
      `insert into service_metrics (service_id, step, at, requests_2xx, samples, cpu, counts, replicas, latency)
       values (?, ?, date_bin(make_interval(secs => ?), now() - make_interval(secs => ?), 'epoch'), 2, 1, 50, 1, 3, ?)`,
      [service.id, step, step, secondsAgo, LATENCY],
    );
  }

  it('add up what several edges report', async () => {
    await recordTraffic(database.db, []);
    await Promise.all([
      recordTraffic(database.db, [traffic(), traffic({ serviceId: uuidv7() })]),
      recordTraffic(database.db, [traffic({ classes: [1, 1, 0, 2], latency: LATENCY.map((count) => count * 2) })]),
    ]);
    const found = await rows(15);
    const sum = (name: string) => found.reduce((total, row) => total + Number(row[name]), 0);
    expect([2, 3, 4, 5].map((digit) => sum(`requests_${digit}xx`))).to.deep.equal([4, 1, 1, 2]);
    expect(sum('bytes_out')).to.equal(1000);
    expect(found.reduce((total, row) => total + row.latency[3], 0)).to.equal(6);
  });

  it('average what the ready replicas of the live release used', async () => {
    const deploymentId = await pretendLive(database.db, service.id);
    const hostId = uuidv7();
    const replica = async (position: number, state: string, restarts = 0) => {
      const row = { host_id: hostId, position, state: state as ReplicaRow['state'], restarts };
      return makeReplica(database.db, service.id, deploymentId, row);
    };
    const [one, two, three] = [await replica(1, 'ready'), await replica(2, 'ready', 4), await replica(3, 'unhealthy')];
    expect(
      (await measurableReplicas(database.db, hostId)).map(({ id, kind, plan }) => [id, kind, plan]),
    ).to.have.deep.members([one, two, three].map((id) => [id, 'web', service.configuration.plan]));
    const sample = (replicaId: string, cpu: number, attempt = 0) => ({
      replicaId,
      serviceId: service.id,
      attempt,
      cpu,
      memory: 10,
    });
    await recordSamples(database.db, [sample(one, 10), sample(two, 90, 4), sample(three, 100)]);
    await recordSamples(database.db, [sample(one, 30)]);
    await foldUsage(database.db, 60);
    await recordSamples(database.db, [sample(two, 90, 3)]);
    await foldUsage(database.db, 60);
    const found = await rows(15);
    const sum = (name: string) => found.reduce((total, row) => total + Number(row[name]), 0);
    expect({ counts: sum('counts'), replicas: sum('replicas') }).to.deep.equal({ counts: 2, replicas: 4 });
    // The second attempt has no sample yet.
    expect({ samples: sum('samples'), cpu: sum('cpu'), memory: sum('memory') }).to.deep.equal({
      samples: 3,
      cpu: 150,
      memory: 30,
    });
  });

  it('have the most that the volumes of the service held, together', async () => {
    const { db } = database;
    const deploymentId = await pretendLive(db, service.id);
    const place = {
      service_id: service.id,
      deployment_id: deploymentId,
      host_id: uuidv7(),
      generation: 1,
      position: 1,
    };
    await db('replicas').insert({ id: uuidv7(), ...place, state: 'ready' });
    const most = async (step: number) => {
      const held = (await rows(step)).flatMap(({ volume_bytes: bytes }) => (bytes === null ? [] : [Number(bytes)]));
      return held.length === 0 ? null : Math.max(...held);
    };
    await foldUsage(db, 60);
    expect(await most(15)).to.equal(null);
    for (const [name, used_bytes] of [
      ['data', 5_000_000_000],
      ['more', 1],
    ] as const) {
      const volume = { id: uuidv7(), service_id: service.id, name, mount_path: `/${name}`, size_gb: 9 };
      await db('volumes').insert({ ...volume, used_bytes, measured_at: new Date() });
    }
    await foldUsage(db, 60);
    await db('volumes').update({ used_bytes: 7 });
    await foldUsage(db, 60);
    expect(await most(15)).to.equal(5_000_000_001);
    await rollUp(db);
    expect(await most(3600)).to.equal(5_000_000_001);
  });

  it('have what the volumes of a service hold that runs nothing, as one that is suspended or of kind cron', async () => {
    const { db } = database;
    const volume = { id: uuidv7(), service_id: service.id, name: 'data', mount_path: '/data', size_gb: 9 };
    await db('volumes').insert({ ...volume, used_bytes: 8, measured_at: null });
    await foldUsage(db, 60);
    expect(await rows(15)).to.deep.equal([]);
    await db('volumes').update({ measured_at: new Date() });
    await foldUsage(db, 60);
    const [row] = await rows(15);
    expect({ replicas: row?.replicas, samples: row?.samples, bytes: Number(row?.volume_bytes) }).to.deep.equal({
      replicas: 0,
      samples: 0,
      bytes: 8,
    });
  });

  it('are made coarser, and a second time changes nothing', async () => {
    for (const seconds of [1000, 985, 970, 700, 10]) await past(15, seconds);
    await rollUp(database.db);
    const once = await rows(300);
    expect(once.reduce((total, row) => total + Number(row.requests_2xx), 0)).to.equal(10);
    expect(once.reduce((total, row) => total + row.latency[3], 0)).to.equal(10);
    expect((await rows(3600)).reduce((total, row) => total + Number(row.requests_2xx), 0)).to.equal(10);
    await rollUp(database.db);
    expect(await rows(300)).to.deep.equal(once);
  });

  it('make up for a time in which nobody made them coarser, and for steps that arrive late', async () => {
    for (const seconds of [9000, 5400, 60]) await past(15, seconds);
    await rollUp(database.db);
    await past(15, 20);
    await rollUp(database.db);
    expect((await rows(300)).reduce((total, row) => total + Number(row.requests_2xx), 0)).to.equal(8);
  });

  it('are kept for as long as their resolution says', async () => {
    for (const seconds of [4 * 3600, 60]) await past(15, seconds);
    for (const seconds of [73 * 3600, 3600]) await past(300, seconds);
    for (const seconds of [745 * 3600, 700 * 3600]) await past(3600, seconds);
    expect(await deleteOldMetrics(database.db)).to.equal(3);
    for (const step of [15, 300, 3600]) expect(await rows(step)).to.have.length(1);
    const { step, rows: read } = await readMetrics(database.db, service.id, 720);
    expect(step).to.equal(3600);
    expect(read[0]).to.deep.include({ requests_2xx: 2, cpu: 50, latency: LATENCY });
  });
});
