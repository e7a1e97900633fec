import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import {
  assertDataService,
  openDataReferences,
  openPasswords,
  prepareDataServer,
} from '../../../../shared/data/commands.js';
import {
  findDataServer,
  hostFor,
  markHostsAway,
  recordInitialized,
  recordReach,
  recordUsage,
  settleHost,
} from '../../../../shared/data/store.js';
import { admitDeployments, recordWaitingReasons } from '../../../../shared/deployments/deployment-admission.js';
import type { CommandDeps } from '../../../../shared/secrets/command-deps.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import type { WorkspaceRow } from '../../../../shared/workspaces/model.js';
import {
  isCurrentRelease,
  isReleasing,
  recordReleasesToStart,
  releasesToStart,
} from '../../../../workers/releases/release-store.js';
import { wantReplicas } from '../../../../workers/replicas/desire-store.js';
import { withHold } from '../../../../workers/volumes/hold-service.js';
import { isHeld, releaseHold, renewHold, takeHold } from '../../../../workers/volumes/holds.js';
import { makeDeployment, makeService, makeWorker, makeWorkspace } from '../../../support/factories.js';
import { messageOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { updateRow } from '../../../support/records.js';

describe('The server of a data service', () => {
  const database = useTestDatabase();
  const keyring = new Keyring(new Sensitive(randomBytes(32).toString('base64')));
  let workspace: WorkspaceRow;
  let service: ServiceRow;

  const prepare = (changes: object = {}) =>
    database.db.transaction((trx) =>
      prepareDataServer(trx, keyring, service, { ...service.configuration, ...changes }),
    );
  const row = async () => {
    const found = await findDataServer(database.db, service.id);
    if (!found) throw new Error('no server');
    return found;
  };
  beforeEach(async () => {
    await database.db.raw('truncate workspaces, workers cascade');
    workspace = await makeWorkspace(database.db);
    service = await makeService(database.db, workspace, { databaseName: 'shop' }, 'postgres');
    await prepare();
  });

  it('keeps its passwords for life, and its names from the first data on', async () => {
    const passwords = openPasswords(keyring, await row());
    expect(passwords.user)
      .to.match(/^[\w-]{32}$/)
      .and.not.equal(passwords.admin);
    await prepare({ databaseName: 'other', databaseVersion: '17' });
    expect(await row()).to.include({ database_name: 'other', version: '17' });
    await recordInitialized(database.db, service.id);
    await prepare({ databaseName: 'third', databaseVersion: '18' });
    expect(await row()).to.include({ database_name: 'other', version: '17' });
    expect(openPasswords(keyring, await row())).to.deep.equal(passwords);
  });

  it('stays on the host that has its data', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    expect(await settleHost(database.db, service.id, first)).to.equal(first);
    expect(await settleHost(database.db, service.id, second), 'it has no data yet').to.equal(second);
    await recordInitialized(database.db, service.id);
    expect(await settleHost(database.db, service.id, first)).to.equal(second);
  });

  it('is given to a host that can run it, to the preferred one if that can', async () => {
    expect(await hostFor(database.db, 'postgres', randomUUID())).to.equal(null);
    const worker = await makeWorker(database.db, 1);
    expect(await hostFor(database.db, 'postgres', randomUUID()), 'it runs no databases').to.equal(null);
    await updateRow(database.db, 'workers', worker, { data_kinds: ['postgres'] });
    const [{ host_id }] = await database.db('workers').select('host_id');
    expect(await hostFor(database.db, 'postgres', randomUUID())).to.equal(host_id);
    expect(await hostFor(database.db, 'redis', host_id)).to.equal(null);
  });

  it('has one replica that is not stopped, whatever goes wrong', async () => {
    const deployments = [await makeDeployment(database.db, service), await makeDeployment(database.db, service)];
    const want = (i: number) =>
      wantReplicas(
        database.db,
        { serviceId: service.id, deploymentId: deployments[i]?.id ?? '', hostId: randomUUID(), volumeId: service.id },
        1,
        false,
      );
    await want(0);
    expect(await messageOf(want(1))).to.include('replicas_volume');
    await database.db('replicas').update({ state: 'stopped' });
    await want(1);
    expect(await messageOf(want(0))).to.include('replicas_volume');
  });

  it('that has no volume any more is not only said to be held by somebody else', async () => {
    const problem = await messageOf(withHold(database.db, randomUUID(), async () => undefined));
    expect(problem).to.contain('it has none');
  });

  it('is held by one holder at a time, who renews the hold', async () => {
    const token = await takeHold(database.db, service.id);
    if (token === null) throw new Error('it is held');
    expect(await takeHold(database.db, service.id)).to.equal(null);
    expect(await isHeld(database.db, service.id)).to.equal(true);
    expect(await renewHold(database.db, service.id, token)).to.equal(true);
    await database.db('data_servers').update({ held_until: new Date(Date.now() - 1000) });
    expect(await renewHold(database.db, service.id, token), 'it ran out').to.equal(false);
    const next = await takeHold(database.db, service.id);
    await releaseHold(database.db, service.id, token);
    expect(await isHeld(database.db, service.id), 'the old holder releases nothing').to.equal(true);
    await releaseHold(database.db, service.id, next ?? '');
    expect(await isHeld(database.db, service.id)).to.equal(false);
  });

  it('is not deployed where no host can run it, nor with a plan that is too small for the data', async () => {
    const check = (plan: 'free' | 'starter', runtime: 'process' | 'swarm' = 'process') =>
      messageOf(
        database.db.transaction((trx) =>
          assertDataService(trx, { config: { runtime } } as CommandDeps, service, { ...service.configuration, plan }),
        ),
      );
    expect(await check('free'), 'without a worker it waits').to.equal('');
    const worker = await makeWorker(database.db, 1);
    expect(await check('free')).to.match(/^No host of this installation can run PostgreSQL/);
    expect(await check('free', 'swarm')).to.match(/finds an image of PostgreSQL.*POSTGRES_IMAGE/);
    await updateRow(database.db, 'workers', worker, { data_kinds: ['postgres'] });
    const used = 3 * 1024 ** 3;
    expect(await recordUsage(database.db, service.id, used, 'open'), 'the state is the same').to.equal(false);
    expect(await recordUsage(database.db, service.id, used, 'read_only')).to.equal(true);
    expect(await recordUsage(database.db, service.id, used, 'read_only'), 'another worker was first').to.equal(false);
    expect(await check('free')).to.match(/^The plan Free has 1\.0 GB of storage, and the data takes 3\.0 GB/);
    expect(await check('starter')).to.equal('');
    expect(await check('starter', 'swarm')).to.equal('');
  });

  it('offers its values as they are now', async () => {
    const references = { DATABASE_URL: { serviceId: service.id, key: 'URL' } };
    const open = () => openDataReferences(database.db, keyring, references);
    expect(await messageOf(open())).to.include('was never started');
    await recordReach(database.db, service.id, { host: '127.0.0.1', port: 21_000, hostPort: 21_000 });
    const { user } = openPasswords(keyring, await row());
    expect(await open()).to.deep.equal({ DATABASE_URL: `postgresql://shop:${user}@127.0.0.1:21000/shop` });
    await recordReach(database.db, service.id, { host: 'db', port: 5432, hostPort: null });
    expect(await open()).to.deep.equal({ DATABASE_URL: `postgresql://shop:${user}@db:5432/shop` });
  });

  it('holds up deployments that refer to it until it runs, and says so', async () => {
    await makeWorker(database.db, 5);
    const app = await makeService(database.db, workspace);
    const { id } = await makeDeployment(database.db, app);
    await database.db('snapshots').insert({
      id,
      service_id: app.id,
      sealed: Buffer.from('x'),
      data_references: JSON.stringify({ URL: { serviceId: service.id, key: 'URL' } }),
      provider_ids: [],
      group_ids: [],
      read_protected: false,
    });
    await database.db('deployments').where({ id }).update({ snapshot_id: id });
    const admit = async () => (await admitDeployments(database.db)).length;
    expect(await admit()).to.equal(0);
    await database.db.transaction((trx) => recordWaitingReasons(trx));
    const [{ blocked_reason }] = await database.db('deployments').where({ id }).select('blocked_reason');
    expect(blocked_reason).to.equal(
      'Waits for the database "Service" that its variables refer to: it does not run; deploy it',
    );
    const own = await makeDeployment(database.db, service);
    await updateRow(database.db, 'services', service.id, { live_deployment_id: own.id, lifecycle_status: 'active' });
    await database.db('deployments').where({ id: own.id }).update({ status: 'live', finished_at: new Date() });
    expect(await admit()).to.equal(1);
  });

  it('is not revived while somebody works on its volume', async () => {
    const deployment = await makeDeployment(database.db, service);
    const image = randomUUID();
    await database.db('images').insert({
      id: image,
      workspace_id: workspace.id,
      service_id: service.id,
      digest: 'd',
      manifest: JSON.stringify({ type: 'process' }),
      size_bytes: 0,
    });
    await updateRow(database.db, 'deployments', deployment.id, {
      image_id: image,
      status: 'live',
      finished_at: new Date(),
    });
    await updateRow(database.db, 'services', service.id, {
      live_deployment_id: deployment.id,
      lifecycle_status: 'active',
    });
    await recordReleasesToStart(database.db);
    expect(await releasesToStart(database.db)).to.have.length(1);
    // The start checks for the hold again, because the list of releases may be old.
    await takeHold(database.db, service.id);
    expect(await releasesToStart(database.db)).to.deep.equal([]);
  });

  it('belongs to the live release and to one that is being deployed', async () => {
    const [old, fresh] = [await makeDeployment(database.db, service), await makeDeployment(database.db, service)];
    await database.db('deployments').where({ id: old.id }).update({ status: 'live', finished_at: new Date() });
    expect(await isCurrentRelease(database.db, old.id)).to.equal(false);
    await database.db('services').where({ id: service.id }).update({ live_deployment_id: old.id });
    expect(await isCurrentRelease(database.db, old.id)).to.equal(true);
    expect(await isCurrentRelease(database.db, fresh.id)).to.equal(true);
    const release = { serviceId: service.id, deploymentId: fresh.id, hostId: randomUUID(), volumeId: service.id };
    expect(await isReleasing(database.db, service.id, old.id), 'it has no replica yet').to.equal(false);
    await wantReplicas(database.db, release, 1, false);
    expect(await isReleasing(database.db, service.id, old.id)).to.equal(true);
    expect(await isReleasing(database.db, service.id, fresh.id), 'it is the one that asks').to.equal(false);
  });

  it('is unhealthy with the reason while its host is away', async () => {
    const deployment = await makeDeployment(database.db, service);
    await updateRow(database.db, 'services', service.id, {
      live_deployment_id: deployment.id,
      lifecycle_status: 'active',
      health_status: 'ready',
    });
    const host = randomUUID();
    await settleHost(database.db, service.id, host);
    await recordInitialized(database.db, service.id);
    await makeWorker(database.db, 1);
    expect(await markHostsAway(database.db)).to.deep.equal([service.id]);
    const [found] = await database.db('services').where({ id: service.id }).select('health_status', 'runtime_detail');
    expect(found).to.include({ health_status: 'unhealthy' });
    expect(found.runtime_detail).to.include(host).and.include('is away');
    expect(await markHostsAway(database.db), 'it is said once').to.deep.equal([]);
  });
});
