import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { loadConfig } from '../../../../shared/core/config.js';
import { Listener } from '../../../../shared/core/database/listener.js';
import { createLogger } from '../../../../shared/core/log.js';
import { insertVolume } from '../../../../shared/volumes/store.js';
import type { ReplicaHost } from '../../../../workers/runtime/replica-host.js';
import { ReplicaRuntime } from '../../../../workers/runtime/replica-runtime.js';
import type { ReplicaRuntimeDeps } from '../../../../workers/runtime/replica-runtime-deps.js';
import type { ReleaseSpec } from '../../../../workers/runtime/runtime-driver.js';
import { makeWorker } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { newDeployment } from '../../../support/records.js';
import { goLive, storeRelease } from '../../../workers/runtime/release-record.js';

describe('A release with a volume', () => {
  const database = useTestDatabase();
  const hostId = uuidv7();
  let runtime: ReplicaRuntime;
  let listener: Listener;
  before(async () => {
    const log = createLogger('test', 'silent');
    listener = new Listener(database.url, log);
    await listener.start();
    const config = loadConfig({ DATABASE_URL: database.url, SECRETS_KEY: Buffer.alloc(32).toString('base64') });
    const deps = { db: database.db, listener, config, log, hostId } as unknown as ReplicaRuntimeDeps;
    runtime = new ReplicaRuntime(deps, {} as ReplicaHost);
    await database
      .db('workers')
      .where({ id: await makeWorker(database.db, 1) })
      .update({ host_id: hostId });
  });
  after(() => listener.close());

  const replicas = ({ deploymentId }: Pick<ReleaseSpec, 'deploymentId'>) =>
    database.db('replicas').where({ deployment_id: deploymentId });
  const becomes = (release: ReleaseSpec, fields: object) =>
    eventually('its replica is there', async () => (await replicas(release).update(fields)) > 0);

  it('has its replica only when that of the release before has ended', async () => {
    const { db } = database;
    const first: ReleaseSpec = { ...(await storeRelease(db, { manifest: {} })), hasVolumes: true };
    const volume = { id: uuidv7(), service_id: first.serviceId, name: 'data', mount_path: '/data', size_gb: 1 };
    await db.transaction((trx) => insertVolume(trx, volume));
    const { signal } = new AbortController();
    const bringing = runtime.release(first, signal);
    await becomes(first, { state: 'ready', ready_at: new Date() });
    await bringing;
    expect(await db('volumes').where({ id: volume.id }).first('host_id')).to.deep.equal({ host_id: hostId });
    await db('deployments').where({ id: first.deploymentId }).update({ status: 'live', finished_at: new Date() });
    await goLive(db, first);

    const deploymentId = await newDeployment(db, first.serviceId, { status: 'releasing', image_id: first.image.id });
    const second = { ...first, deploymentId };
    const replacing = runtime.release(second, signal);
    await eventually('the old one is to stop', async () => (await replicas(first).first())?.desired === 'stopped');
    await delay(500);
    expect(await replicas(second)).to.deep.equal([]);
    await becomes(first, { state: 'stopped' });
    await becomes(second, { state: 'ready', ready_at: new Date() });
    await replacing;
    const [row] = await replicas(second);
    expect(row).to.include({ volume_id: first.serviceId, host_id: hostId, desired: 'running' });
  });
});
