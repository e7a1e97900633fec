import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { assertFitsData, assertUnreferenced, prepareDataServer } from '../../../../shared/data/commands.js';
import { markHostsAway, recordInitialized, settleHost, volumesToRemove } from '../../../../shared/data/store.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { DataServices } from '../../../../workers/data/data-services.js';
import { makeDataServer, makeService, makeWorker } from '../../../support/factories.js';
import { useFolders, whileMounted } from '../../../support/folders.js';
import { messageOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newEnvironment, pretendLive } from '../../../support/records.js';

describe('The data of a data service', () => {
  const database = useTestDatabase();
  const newFolder = useFolders();
  const keyring = new Keyring(new Sensitive(randomBytes(32).toString('base64')));
  const host = randomUUID();
  let db: Db;
  let service: ServiceRow;

  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces, workers cascade');
    service = await makeService(db, undefined, { databaseName: 'shop', databaseVersion: '16' }, 'postgres');
    await db.transaction((trx) => prepareDataServer(trx, keyring, service, service.configuration));
    await settleHost(db, service.id, host);
  });
  const change = (fields: object) => db('services').where({ id: service.id }).update(fields);
  it('binds the version and the names once it is there', async () => {
    const fits = (changes: object) =>
      messageOf(db.transaction((trx) => assertFitsData(trx, service, { ...service.configuration, ...changes })));
    expect(await fits({ databaseVersion: '17' }), 'without data').to.equal('');
    await recordInitialized(db, service.id);
    expect(await fits({})).to.equal('');
    expect(await fits({ databaseName: '' })).to.equal('');
    expect(await fits({ databaseVersion: '17' })).to.contain('written by PostgreSQL 16');
    expect(await fits({ databaseName: 'other' })).to.contain('called "shop"');
    expect(await fits({ databaseUser: 'other' })).to.contain('The user is called "shop"');
  });

  it('cannot be deleted while other services refer to it, themselves, by a group, or in what they run', async () => {
    const unreferenced = () => messageOf(db.transaction((trx) => assertUnreferenced(trx, service)));
    const [own, grouped, running] = [await makeService(db), await makeService(db), await makeService(db)];
    for (const [one, name] of [
      [own, 'own'],
      [grouped, 'grouped'],
      [running, 'running'],
    ] as const) {
      await db('services').where({ id: one.id }).update({ name });
    }
    expect(await unreferenced()).to.equal('');

    const reference = { key: 'URL', reference_service_id: service.id, reference_key: 'URL' };
    await db('variables').insert({ id: uuidv7(), workspace_id: own.workspace_id, service_id: own.id, ...reference });
    expect(await unreferenced()).to.contain('"own"');
    await db('variables').delete();

    const group = await (await newEnvironment(db, grouped.workspace_id)).group('Shared');
    await db('variables').insert({
      id: uuidv7(),
      workspace_id: grouped.workspace_id,
      group_id: group.id,
      ...reference,
    });
    expect(await unreferenced(), 'no service has the group').to.equal('');
    await group.link(grouped.id);
    expect(await unreferenced()).to.contain('"grouped"');
    await db('variables').delete();

    const snapshotId = uuidv7();
    const references = { URL: { serviceId: service.id, key: 'URL' } };
    await db('snapshots').insert({
      id: snapshotId,
      service_id: running.id,
      sealed: Buffer.from('x'),
      data_references: JSON.stringify(references),
    });
    const deploymentId = await pretendLive(db, running.id, { snapshot_id: snapshotId });
    expect(await unreferenced()).to.contain('"running"');
    await db('services').where({ live_deployment_id: deploymentId }).update({ deleted_at: new Date() });
    expect(await unreferenced()).to.equal('');
  });

  it('is removed when its service is deleted, and not while somebody works on it', async () => {
    const removable = async (of = host) => (await volumesToRemove(db, of)).map(({ id }) => id);
    expect(await removable()).to.deep.equal([]);
    await change({ deleted_at: new Date() });
    expect(await removable(), 'it is being deleted').to.deep.equal([]);
    await change({ deleted_at: new Date(), lifecycle_status: 'deleted' });
    expect(await removable()).to.deep.equal([service.id]);
    expect(await removable(randomUUID()), 'another host').to.deep.equal([]);
    await db('data_servers').update({ held_until: db.raw(`now() + interval '1 minute'`) });
    expect(await removable(), 'it is held').to.deep.equal([]);
    await db('data_servers').update({ held_until: db.raw(`now() - interval '1 minute'`) });
    expect(await removable()).to.deep.equal([service.id]);
  });

  it('is removed beside that of a service whose folder cannot be removed (skipped without root)', async function () {
    const other = await makeService(db, undefined, {}, 'redis');
    await makeDataServer(db, other.id, { host_id: host });
    await db('services').update({ deleted_at: new Date(), lifecycle_status: 'deleted' });
    const dataDir = await newFolder();
    const log = { warn: () => undefined };
    const data = new DataServices({ db, hostId: host, config: { dataDir }, log, sandbox: { network: null } } as never);
    const mounted = await whileMounted(join(dataDir, 'volumes', service.id), async () => {
      expect(await data.removeVolumes()).to.equal(1);
    });
    if (!mounted) this.skip();
    expect((await volumesToRemove(db, host)).map(({ id }) => id)).to.deep.equal([service.id]);
  });

  it('is out of reach only if its host is away for a minute and other workers are there', async () => {
    await recordInitialized(db, service.id);
    await pretendLive(db, service.id);
    expect(await markHostsAway(db), 'no worker is there').to.deep.equal([]);
    await makeWorker(db, 1);
    const seen = (seconds: number) =>
      db('workers')
        .where({ host_id: host })
        .update({ seen_at: db.raw('now() - make_interval(secs => ?)', [seconds]) });
    const itsWorker = await makeWorker(db, 1);
    await db('workers').where({ id: itsWorker }).update({ host_id: host });
    await seen(50);
    expect(await markHostsAway(db), 'it only restarts').to.deep.equal([]);
    await seen(70);
    expect(await markHostsAway(db)).to.deep.equal([service.id]);
  });
});
