import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { mock } from 'node:test';
import { expect } from 'chai';
import type { HostNetwork } from '../../../../../workers/network/host-network.js';
import { wantReplicas } from '../../../../../workers/replicas/desire-store.js';
import type { ReplicaRow } from '../../../../../workers/replicas/rows.js';
import { claimReplica } from '../../../../../workers/replicas/start-store.js';
import { ReplicaHealth } from '../../../../../workers/runtime/process/replica-health.js';
import type { Sandbox } from '../../../../../workers/sandbox/sandbox.js';
import { useTestDatabase } from '../../../../support/postgres.js';
import { readRow } from '../../../../support/records.js';
import { goLive, storeRelease } from '../../../../workers/runtime/release-record.js';

const listen = async (server: Server, port: number): Promise<number> => {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

describe('The health of a replica in a rootless network', () => {
  const database = useTestDatabase();
  /** Stands for the entry to the private network. It accepts every connection. */
  const entry = createServer((socket) => socket.destroy());
  const application = createServer();

  afterEach(() => {
    mock.timers.reset();
    entry.close();
    application.close();
  });

  it('makes no replica ready that listens on loopback before its port leads there', async () => {
    const { db } = database;
    const entryPort = await listen(entry, 0);
    const unused = createServer();
    const port = await listen(unused, 0);
    unused.close();
    const spec = await storeRelease(db, { manifest: { startCommand: 'node .' }, configuration: { port } });
    await goLive(db, spec);
    await wantReplicas(db, { ...spec, hostId: spec.deploymentId }, 1, false);
    const read = () => readRow<ReplicaRow>(db, 'replicas', { deployment_id: spec.deploymentId });
    expect(await claimReplica(db, await read(), entryPort)).to.equal('claimed');
    await db('replicas')
      .where({ deployment_id: spec.deploymentId })
      .update({ address: '127.0.0.1', pid: process.pid, given_port: port });

    const led: number[] = [];
    const network: Partial<HostNetwork> = {
      level: 'rootless',
      owns: () => true,
      ownAddress: () => '10.99.0.2',
      lead: async () => entryPort,
      setPorts: async (_id, targets) => void led.push(...targets.map((target) => target.port)),
      // The application begins to listen between the look at its sockets and the check.
      portBehind: async () => {
        if (!application.listening) await listen(application, port);
        return port;
      },
    };
    let now = Date.now();
    mock.timers.enable({ apis: ['Date'], now });
    const health = new ReplicaHealth({
      db,
      hostId: spec.deploymentId,
      config: { edgeDomain: 'test', healthReplaceSeconds: 60 },
      checks: { add: () => undefined },
      sandbox: { allNetworks: network } as unknown as Sandbox,
    } as unknown as ConstructorParameters<typeof ReplicaHealth>[0]);
    for (let checks = 0; checks < 20 && (await read()).state === 'starting'; checks++) {
      await health.check(await read(), spec);
      expect((await read()).state === 'ready' && led.length === 0, 'ready without a way to it').to.equal(false);
      now = Math.max(now, health.nextCheckAt);
      mock.timers.setTime(now);
    }
    expect((await read()).state).to.equal('ready');
    expect(led).to.deep.equal([port]);
  });
});
