import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { acknowledgeRoutes } from '../../../../../shared/routing/store.js';
import { planOf } from '../../../../../shared/services/plan-catalog.js';
import { wantReplicas, wantStopped } from '../../../../../workers/replicas/desire-store.js';
import type { ReplicaRow } from '../../../../../workers/replicas/rows.js';
import { claimReplica, recordProcess, releaseReplica } from '../../../../../workers/replicas/start-store.js';
import { recordReady } from '../../../../../workers/replicas/store.js';
import { HostAllowance } from '../../../../../workers/runtime/log-allowance.js';
import { ProcessController } from '../../../../../workers/runtime/process/process-controller.js';
import type { ReleaseSpec } from '../../../../../workers/runtime/runtime-driver.js';
import type { PortHolder, Sandbox } from '../../../../../workers/sandbox/sandbox.js';
import { ServiceVolumes } from '../../../../../workers/volumes/service-volumes.js';
import { useFolders } from '../../../../support/folders.js';
import { listen } from '../../../../support/http.js';
import { eventually } from '../../../../support/processes.js';
import { readRow, updateRow } from '../../../../support/records.js';
import { type TestWorkshop, useTestWorkshop } from '../../../../support/workshop.js';
import { goLive, storeRelease } from '../../../../workers/runtime/release-record.js';

describe('The controller of a replica that runs as a process', () => {
  let workshop: TestWorkshop;
  let dataDir: string;
  let server: Server;
  let port: number;
  let status = 200;
  let cpus: number[];
  let calls: string[];
  let alive: boolean;
  let holder: PortHolder;

  useTestWorkshop((opened) => ({ workshop } = opened));
  const newFolder = useFolders();
  before(async () => {
    dataDir = await newFolder();
    server = createServer((_, response) => response.writeHead(status).end());
    port = await listen(server);
  });
  after(() => server.close());
  beforeEach(() => {
    [status, calls, cpus, alive, holder] = [200, [], [], true, 'own'];
  });

  const sandbox = {
    isAlive: async () => alive,
    portHolder: async () => holder,
    start: async () => {
      calls.push('start');
      return { pid: 7, startedAt: 'now' };
    },
    stop: async () => {
      calls.push('stop');
    },
    limitCpu: async (_id: string, cpu: number) => {
      cpus.push(cpu);
    },
  } as unknown as Sandbox;

  interface Replica {
    controller: ProcessController;
    spec: ReleaseSpec;
    read(): Promise<ReplicaRow>;
    reconcile(): Promise<void>;
  }

  async function replica(state: 'pending' | 'starting' | 'ready'): Promise<Replica> {
    const { db } = workshop.database;
    const spec = await storeRelease(db, {
      manifest: { startCommand: 'node .' },
      configuration: { healthCheckPath: '/' },
    });
    await goLive(db, spec);
    await mkdir(join(dataDir, 'images', spec.image.digest), { recursive: true });
    const hostId = randomUUID();
    await wantReplicas(db, { serviceId: spec.serviceId, deploymentId: spec.deploymentId, hostId }, 1, false);
    const read = () => readRow<ReplicaRow>(db, 'replicas', { deployment_id: spec.deploymentId });
    if (state !== 'pending') {
      await claimReplica(db, await read(), port);
      await recordProcess(db, await read(), 7, 'now');
      if (state === 'ready') await recordReady(db, await read());
    }
    const worker = await workshop.worker();
    const deps = {
      ...worker,
      config: { ...worker.config, dataDir },
      hostId,
      checks: { add: () => undefined },
      data: null,
      sandbox,
      firewall: { apply: async () => undefined },
      volumes: new ServiceVolumes({ ...worker, config: { ...worker.config, dataDir } }),
      loadRelease: async () => spec,
    };
    const controller = new ProcessController(deps, (await read()).id, () => undefined, new HostAllowance());
    return { controller, spec, read, reconcile: async () => controller.reconcile(await read()) };
  }

  async function check({ controller, reconcile }: Replica): Promise<void> {
    // A timer may end a millisecond early.
    while (controller.nextCheckAt > Date.now()) await delay(controller.nextCheckAt - Date.now());
    await reconcile();
  }

  it("limits the processor to the plan's when the replica is ready, once", async () => {
    const one = await replica('starting');
    await check(one);
    expect(cpus).to.deep.equal([]);
    await check(one);
    for (let i = 0; i < 2; i++) await one.reconcile();
    expect(cpus).to.deep.equal([planOf(one.spec.configuration.plan).cpu]);
  });

  it('has nothing to do for a row that has not changed, until a check is due', async () => {
    const one = await replica('ready');
    expect(one.controller.isIdle(await one.read())).to.equal(false);
    await one.reconcile();
    await one.reconcile();
    const row = await one.read();
    expect(one.controller.isIdle(row)).to.equal(true);
    expect(one.controller.isIdle({ ...row, desired: 'stopped' })).to.equal(false);
    expect(one.controller.isIdle({ ...row, updated_at: new Date() })).to.equal(false);
  });

  it('starts a replica that waits, with a port of the range', async () => {
    const { read, reconcile } = await replica('pending');
    await reconcile();
    expect(calls).to.deep.equal(['start']);
    const row = await read();
    expect(row).to.include({ state: 'starting', pid: 7, pid_started: 'now' });
    expect(row.port).to.be.a('number');
  });

  it('gives requests to a new replica after the second good check', async () => {
    const one = await replica('starting');
    await check(one);
    expect((await one.read()).state).to.equal('starting');
    await check(one);
    expect((await one.read()).state).to.equal('ready');
  });

  it('forgets the checks of an earlier attempt', async () => {
    const { db } = workshop.database;
    const one = await replica('starting');
    const { port } = await one.read();
    await check(one);
    await releaseReplica(db, await one.read());
    await claimReplica(db, await one.read(), port);
    await recordProcess(db, await one.read(), 7, 'now');
    await check(one);
    expect((await one.read()).state).to.equal('starting');
    await check(one);
    expect((await one.read()).state).to.equal('ready');
  });

  it('gives no requests to a replica that answers 404, and keeps one that fails a single check', async () => {
    status = 404;
    const fresh = await replica('starting');
    for (let checks = 0; checks < 3; checks++) await check(fresh);
    expect((await fresh.read()).state).to.equal('starting');
    const serving = await replica('ready');
    await check(serving);
    expect((await serving.read()).state).to.equal('ready');
    await check(serving);
    expect((await serving.read()).state).to.equal('unhealthy');
    expect((await workshop.service(serving.spec.serviceId)).health_status).to.equal('unhealthy');
  });

  it('ends a replica that gets requests only after every edge has stopped to send them', async () => {
    const { db } = workshop.database;
    const { spec, read, reconcile } = await replica('ready');
    const edge = randomUUID();
    await db.raw(`insert into edges (id, host, pid, seen_at) values (?, 'test', 1, now() + interval '1 minute')`, [
      edge,
    ]);
    await wantStopped(db, spec.deploymentId);
    const stopped = reconcile();
    await delay(200);
    expect(calls).to.deep.equal([]);
    const { route_version: version } = await workshop.service(spec.serviceId);
    await acknowledgeRoutes(db, edge, [{ serviceId: spec.serviceId, version }]);
    await stopped;
    await db.raw('delete from edges where id = ?', [edge]);
    expect(calls).to.deep.equal(['stop']);
    expect((await read()).state).to.equal('stopped');
  });

  it('starts a replica again that has died, after its back-off', async () => {
    const one = await replica('ready');
    alive = false;
    await one.reconcile();
    expect(calls).to.deep.equal(['stop']);
    expect(await one.read()).to.include({ state: 'exited', exit_detail: 'ended without an exit code', restarts: 1 });
    await one.reconcile();
    expect(calls).to.deep.equal(['stop']);
    await eventually('it is started again', async () => {
      await one.reconcile();
      return (await one.read()).state === 'starting';
    });
    expect(calls).to.deep.equal(['stop', 'start']);
  });

  it('moves the route away from a port that a stranger has before it ends the process', async () => {
    const one = await replica('ready');
    holder = 'stranger';
    const { route_version: before } = await workshop.service(one.spec.serviceId);
    await one.reconcile();
    expect(await one.read()).to.include({ state: 'exited', restarts: 1 });
    expect((await workshop.service(one.spec.serviceId)).route_version).to.be.greaterThan(before);
    expect(calls).to.deep.equal(['stop']);
  });

  it('ends what a dead worker may have started, and starts anew', async () => {
    const one = await replica('starting');
    await updateRow(workshop.database.db, 'replicas', (await one.read()).id, { pid: null });
    await one.reconcile();
    expect(calls).to.deep.equal(['stop']);
    expect(await one.read()).to.include({ state: 'pending', restarts: 1, port: null });
  });

  it('keeps a process that the worker before it has recorded in the meantime', async () => {
    const one = await replica('starting');
    await one.controller.reconcile({ ...(await one.read()), pid: null, pid_started: null });
    expect(calls).to.deep.equal([]);
    expect(await one.read()).to.include({ state: 'starting', restarts: 0 });
  });
});
