import { join } from 'node:path';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../../../shared/core/database/database-client.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { deleteVolume } from '../../../../shared/volumes/commands.js';
import { findVolume, insertVolume, isMounted, listVolumes } from '../../../../shared/volumes/store.js';
import { removeDeletedVolumes } from '../../../../workers/volumes/service-volumes.js';
import {
  forgetVolume,
  hostOfVolumes,
  recordMade,
  recordVolumeUsage,
  settleVolumes,
  volumesOfHost,
  volumesToRemove,
} from '../../../../workers/volumes/volume-store.js';
import { makeReplica, makeService } from '../../../support/factories.js';
import { useFolders, whileMounted } from '../../../support/folders.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment } from '../../../support/records.js';

describe('Volumes of services', () => {
  const database = useTestDatabase();
  const newFolder = useFolders();
  let db: Db;
  let service: ServiceRow;
  const host = uuidv7();
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    service = await makeService(db);
  });

  async function volume(name = 'data'): Promise<string> {
    const id = uuidv7();
    const row = { id, service_id: service.id, name, mount_path: `/${name}`, size_gb: 1 };
    await db.transaction((trx) => insertVolume(trx, row));
    return id;
  }
  async function replica(fields: Record<string, unknown>): Promise<string> {
    const deployment_id = await newDeployment(db, service.id, { status: 'live' });
    return makeReplica(db, service.id, deployment_id, { host_id: host, ...fields });
  }
  async function remove(id: string): Promise<void> {
    const row = await findVolume(db, service.id, id);
    if (row === undefined) throw new Error('there is no such volume');
    await db.transaction((trx) => deleteVolume(trx, row));
  }
  const names = (rows: readonly { name: string }[]) => rows.map(({ name }) => name);

  it('belong to the first host that runs the service, and to no other one later', async () => {
    expect(await settleVolumes(db, service.id, host)).to.equal(null);
    await volume();
    expect(await hostOfVolumes(db, service.id)).to.equal(null);
    expect(await settleVolumes(db, service.id, host)).to.equal(host);
    await volume('more');
    expect(await settleVolumes(db, service.id, uuidv7())).to.equal(host);
    expect(await hostOfVolumes(db, service.id)).to.equal(host);
  });

  it('are not deleted while a replica or a run may have them mounted', async () => {
    const id = await volume();
    await settleVolumes(db, service.id, host);
    for (const fields of [
      { volume_id: service.id, state: 'ready' },
      { volume_id: service.id, state: 'pending' },
    ]) {
      const user = await replica(fields);
      expect(await isMounted(db, service.id), fields.state).to.equal(true);
      expect(await remove(id).catch((error: { code: string }) => error.code)).to.equal('volume_in_use');
      await db('replicas').where({ id: user }).update({ state: 'stopped' });
    }
    // A replica of a release from before the volume does not mount it.
    await replica({ state: 'ready' });
    expect(await isMounted(db, service.id)).to.equal(false);
    await remove(id);
    expect(await listVolumes(db, service.id)).to.deep.equal([]);
  });

  it('keep their record until their host has removed the content; one that no host has is gone at once', async () => {
    const never = await volume('never');
    await remove(never);
    expect(await db('volumes').where({ id: never })).to.deep.equal([]);
    const id = await volume();
    await settleVolumes(db, service.id, host);
    expect(await volumesToRemove(db, host, 'host')).to.deep.equal([]);
    await remove(id);
    expect(await findVolume(db, service.id, id)).to.equal(undefined);
    expect(names(await volumesToRemove(db, host, 'host'))).to.deep.equal(['data']);
    expect(await volumesToRemove(db, uuidv7(), 'host')).to.deep.equal([]);
    expect(await settleVolumes(db, service.id, uuidv7())).to.equal(null);
    await forgetVolume(db, id);
    expect(await volumesToRemove(db, host, 'host')).to.deep.equal([]);
  });

  it('are removed beside one whose folder cannot be removed (skipped without root)', async function () {
    const [stuck, other] = [await volume('stuck'), await volume('other')];
    await settleVolumes(db, service.id, host);
    for (const id of [stuck, other]) await remove(id);
    const dataDir = await newFolder();
    const said: string[] = [];
    const log = { warn: (_facts: object, text: string) => said.push(text) } as never;
    const mounted = await whileMounted(join(dataDir, 'volumes', stuck), async () => {
      expect(await removeDeletedVolumes({ db, config: { dataDir }, log }, host)).to.equal(1);
    });
    if (!mounted) this.skip();
    expect(names(await volumesToRemove(db, host, 'host'))).to.deep.equal(['stuck']);
    expect(said.join()).to.contain('EBUSY');
  });

  it('are removed with their service', async () => {
    await recordMade(db, await volume());
    await settleVolumes(db, service.id, host);
    expect(await volumesOfHost(db, host)).to.have.length(1);
    await db('services').where({ id: service.id }).update({ deleted_at: new Date() });
    expect(names(await volumesToRemove(db, host, 'host'))).to.deep.equal(['data']);
    expect(await volumesOfHost(db, host)).to.deep.equal([]);
  });

  it('are measured once their host has created them', async () => {
    const [id, other] = [await volume(), await volume('more')];
    await settleVolumes(db, service.id, host);
    expect(await volumesOfHost(db, host)).to.deep.equal([]);
    for (const each of [id, other]) await recordMade(db, each);
    expect(names(await volumesOfHost(db, host))).to.have.members(['data', 'more']);
    expect(await volumesOfHost(db, uuidv7())).to.deep.equal([]);
  });

  it('report a change of their state once, and stay made', async () => {
    const id = await volume();
    expect(await recordVolumeUsage(db, id, 5, 'nearly_full')).to.equal(true);
    expect(await recordVolumeUsage(db, id, 6, 'nearly_full')).to.equal(false);
    const [before] = await listVolumes(db, service.id);
    expect(before).to.include({ used_bytes: 6, storage_state: 'nearly_full' });
    await recordMade(db, id);
    expect((await listVolumes(db, service.id))[0]?.measured_at).to.deep.equal(before?.measured_at);
  });
});
