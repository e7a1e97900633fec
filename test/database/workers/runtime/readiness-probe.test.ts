import { createServer, type Server } from 'node:http';
import { mock } from 'node:test';
import { expect } from 'chai';
import { wantReplicas } from '../../../../workers/replicas/desire-store.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import { claimReplica } from '../../../../workers/replicas/start-store.js';
import { ReadinessProbe } from '../../../../workers/runtime/readiness-probe.js';
import type { ReleaseSpec } from '../../../../workers/runtime/runtime-driver.js';
import { listen } from '../../../support/http.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { readRow } from '../../../support/records.js';
import { goLive, storeRelease } from '../../../workers/runtime/release-record.js';

describe('The readiness probe of a replica', () => {
  const database = useTestDatabase();
  let server: Server;
  let port: number;
  let status: number;
  let asked: number;
  let spec: ReleaseSpec;
  let id: string;
  let watch: ReadinessProbe;
  let now: number;
  let recorded: string[];

  before(async () => {
    server = createServer((_request, response) => {
      asked++;
      response.writeHead(status).end();
    });
    port = await listen(server);
  });
  after(() => server.close());
  beforeEach(async () => {
    const { db } = database;
    spec = await storeRelease(db, { manifest: { startCommand: 'node .' }, configuration: { healthCheckPath: '/' } });
    await goLive(db, spec);
    const hostId = spec.deploymentId;
    await wantReplicas(db, { serviceId: spec.serviceId, deploymentId: spec.deploymentId, hostId }, 1, false);
    const row = await readRow<ReplicaRow>(db, 'replicas', { deployment_id: spec.deploymentId });
    id = row.id;
    await db('replicas').where({ id }).update({ address: '127.0.0.1' });
    expect(await claimReplica(db, row, port)).to.equal('claimed');
    [status, asked] = [200, 0];
    now = Date.now();
    mock.timers.enable({ apis: ['Date'], now });
    recorded = [];
    const checks = { add: (row: Pick<ReplicaRow, 'id'>) => void recorded.push(row.id) };
    watch = new ReadinessProbe({ db, config: { edgeDomain: 'test', healthReplaceSeconds: 60 }, checks });
  });
  afterEach(() => mock.timers.reset());

  const read = () => readRow<ReplicaRow>(database.db, 'replicas', { id });

  async function check(answer = 200, ownsPort = true): Promise<string> {
    status = answer;
    now = Math.max(now, watch.nextCheckAt);
    mock.timers.setTime(now);
    await watch.check(await read(), spec, async () => ownsPort);
    return (await read()).state;
  }

  it('makes it ready after two passes, unhealthy after two failures, and ready again after one pass', async () => {
    expect(await check()).to.equal('starting');
    expect(await check()).to.equal('ready');
    expect(await check(500)).to.equal('ready');
    expect(await check(500)).to.equal('unhealthy');
    expect(await check(200)).to.equal('ready');
  });

  it('runs no check before it is due', async () => {
    await check();
    await watch.check(await read(), spec, async () => true);
    expect(asked).to.equal(1);
    expect(await check()).to.equal('ready');
    mock.timers.setTime(watch.nextCheckAt - 1);
    await watch.check(await read(), spec, async () => true);
    expect(asked).to.equal(2);
  });

  it('sends no request to a port that another process has, and takes it as a failure', async () => {
    await check();
    await check();
    expect(await check(200, false)).to.equal('ready');
    expect(await check(200, false)).to.equal('unhealthy');
    expect(asked).to.equal(2);
  });

  it('leaves checks that change nothing to the recorder, and stores another answer itself', async () => {
    await check();
    await check();
    expect(recorded).to.deep.equal([]);
    const before = await read();
    await check();
    expect(recorded).to.deep.equal([id]);
    expect(await read()).to.deep.equal(before);
    await check(500);
    expect(recorded).to.deep.equal([id]);
    expect((await read()).health_answer).to.not.equal('');
  });
});
