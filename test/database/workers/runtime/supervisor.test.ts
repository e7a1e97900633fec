import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { loadConfig } from '../../../../shared/core/config.js';
import { Listener } from '../../../../shared/core/database/listener.js';
import { createLogger } from '../../../../shared/core/log.js';
import { wantReplicas } from '../../../../workers/replicas/desire-store.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import type { SupervisedHost } from '../../../../workers/runtime/replica-host.js';
import { Supervisor } from '../../../../workers/runtime/supervisor.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { readRow, updateRow } from '../../../support/records.js';
import { goLive, storeRelease } from '../../../workers/runtime/release-record.js';

const [SLOW, ODD, BUSY, SETTLED] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];

describe('The supervisor of a host', () => {
  const database = useTestDatabase();
  let listener: Listener;
  let supervisor: Supervisor;
  let reconciled: Set<string>;

  async function supervise(hostId: string, changes: Partial<SupervisedHost>): Promise<void> {
    const log = createLogger('test', 'silent');
    listener = new Listener(database.url, log);
    await listener.start();
    reconciled = new Set();
    const host: SupervisedHost = {
      pollMs: 50,
      controller: (id) => ({
        nextCheckAt: Number.POSITIVE_INFINITY,
        reconcile: async () => void reconciled.add(id),
      }),
      sweep: async () => undefined,
      ...changes,
    };
    const config = loadConfig({
      DATABASE_URL: database.url,
      SECRETS_KEY: Buffer.alloc(32).toString('base64'),
      HEALTH_REPLACE_SECONDS: '1',
    });
    const logs = { append: async () => undefined };
    supervisor = new Supervisor({ db: database.db, listener, config, log, hostId, logs }, host);
    await supervisor.start();
  }
  afterEach(async () => {
    await supervisor.close(false);
    await listener.close();
  });

  /** Creates a replica of a live release on this host. */
  async function replicaOn(hostId: string): Promise<string> {
    const { db } = database;
    const spec = await storeRelease(db, { manifest: { startCommand: 'node .' } });
    await goLive(db, spec);
    await wantReplicas(db, { serviceId: spec.serviceId, deploymentId: spec.deploymentId, hostId }, 1, false);
    const row = await readRow<ReplicaRow>(db, 'replicas', { deployment_id: spec.deploymentId });
    return row.id;
  }

  it('reconciles replicas while a sweep cannot end what it found', async () => {
    let end: () => void = () => undefined;
    let sweeps = 0;
    const sweep = async () => {
      sweeps++;
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    };
    await supervise(SLOW, { sweep });
    await eventually('the sweep is under way', async () => sweeps === 1);
    const [first, second] = [await replicaOn(SLOW), await replicaOn(SLOW)];
    await eventually('both are reconciled', async () => reconciled.has(first) && reconciled.has(second));
    expect(sweeps).to.equal(1);
    end();
  });

  it('a replica of which nobody knows whether there is room beside it does not hold the others', async () => {
    const { db } = database;
    const [sick, other] = [await replicaOn(ODD), await replicaOn(ODD)];
    await updateRow(db, 'replicas', sick, {
      state: 'unhealthy',
      pid: 1,
      ready_at: new Date(0),
      replace_at: new Date(0),
    });
    await supervise(ODD, {
      hasRoom: async () => {
        throw new Error('its variables cannot be opened');
      },
    });
    await eventually('both are reconciled', async () => reconciled.has(sick) && reconciled.has(other));
  });

  it('a host on which nothing is to do is polled less often, and a notification wakes its supervisor', async () => {
    let busyPasses = 0;
    await replicaOn(BUSY);
    await supervise(BUSY, { pollMs: 20, observe: async () => void busyPasses++ });
    const busy = { supervisor, listener };
    let passes = 0;
    await supervise(SETTLED, { pollMs: 20, observe: async () => void passes++ });
    try {
      await eventually('the empty host was looked at', () => passes > 0);
      const before = busyPasses;
      await eventually('the busy host was polled ten times', () => busyPasses >= before + 10);
      expect(passes).to.equal(1);
      const id = await replicaOn(SETTLED);
      await eventually('the replica is reconciled', () => reconciled.has(id));
    } finally {
      await busy.supervisor.close(false);
      await busy.listener.close();
    }
  });
});
